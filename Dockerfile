# A broker: docker build -t tidelog . && docker run -p 9092:9092 tidelog up
# The wheel is built and installed in the first stage; the image has neither pip nor sources. BASE can be any image
# with Python 3.11 or newer as python3, and its venv module.
ARG BASE=python:3.13-slim

FROM ${BASE} AS build
ARG EXTRAS=fast,secure
RUN python3 -m venv /build
WORKDIR /source
COPY pyproject.toml hatch_build.py README.md LICENSE ./
COPY docs/reference/commands.md docs/reference/
COPY docs/runbooks docs/runbooks
COPY tools/man_pages.py tools/
COPY share share
COPY src src
RUN /build/bin/pip wheel --no-cache-dir --no-deps --wheel-dir /wheel . \
    && python3 -m venv --without-pip /opt/tidelog \
    && /build/bin/pip --python /opt/tidelog/bin/python install --no-cache-dir "$(echo /wheel/*.whl)[${EXTRAS}]"
COPY docker/healthcheck.py /opt/tidelog/bin/tidelog-healthcheck

FROM ${BASE}
LABEL org.opencontainers.image.title="Tidelog" \
      org.opencontainers.image.description="A message queue that speaks the Kafka protocol" \
      org.opencontainers.image.licenses="MIT"
RUN useradd --system --user-group --uid 10001 --home-dir /var/lib/tidelog --create-home --shell /usr/sbin/nologin tidelog
COPY --from=build /opt/tidelog /opt/tidelog
ENV PATH=/opt/tidelog/bin:$PATH \
    TIDELOG_LISTENERS=PLAINTEXT://0.0.0.0:9092 \
    TIDELOG_ADVERTISED_LISTENERS=PLAINTEXT://localhost:9092 \
    TIDELOG_LOG_DIRS=/var/lib/tidelog/data \
    TIDELOG_METRICS_HOST=0.0.0.0 \
    TIDELOG_METRICS_PORT=9404 \
    TIDELOG_SCHEMA_REGISTRY_HOST=0.0.0.0
USER 10001:10001
WORKDIR /var/lib/tidelog
VOLUME /var/lib/tidelog
EXPOSE 8081 9092 9404
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s --retries=3 CMD ["python3", "-I", "-S", "/opt/tidelog/bin/tidelog-healthcheck"]
ENTRYPOINT ["tidelog"]
CMD ["broker"]
