"""The image with Spark, built and run: `make image-test SPARK=yes`. It downloads more than 1 GB."""

import pytest

from tests.deploy.podman import LIMITS, SPARK_IMAGE, build_images, podman

PROGRAM = (
    "from tidelog.spark import spark_session\n"
    "print(spark_session('test').range(10).selectExpr('sum(id)').first()[0])"
)


@pytest.mark.timeout(3600)
def test_the_image_with_spark_runs_a_query() -> None:
    build_images(spark=True)
    options = ["--rm", *LIMITS, "--entrypoint", "python3"]
    assert podman("run", *options, SPARK_IMAGE, "-c", PROGRAM).splitlines()[-1] == "45"
