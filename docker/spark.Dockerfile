# Pipelines on Spark: docker build -t tidelog-spark -f docker/spark.Dockerfile .
# docker run -v ./pipeline.yaml:/etc/tidelog/pipeline.yaml tidelog-spark
# Adds Spark, Arrow, the table formats and a Java to the image of the broker, TIDELOG.
ARG TIDELOG=tidelog:latest

FROM ${TIDELOG} AS build
# hadolint ignore=DL3002
USER 0:0
# Tidelog is installed already, so pip takes only what its extra asks for.
RUN python3 -m venv /build \
    && /build/bin/pip --python /opt/tidelog/bin/python install --no-cache-dir "tidelog[spark]"

FROM ${TIDELOG}
LABEL org.opencontainers.image.title="Tidelog with Spark"
COPY --from=build /opt/tidelog /opt/tidelog
ENV TIDELOG_PIPELINES=/var/lib/tidelog/pipelines
HEALTHCHECK NONE
CMD ["pipeline", "run", "/etc/tidelog/pipeline.yaml"]
