"""A job of a Spark Connect client, which starts a server of its own: run by test_source_connect.py.

`python connect_job.py SERVERS TOPIC` prints the rows that a batch read, then those that a stream read, then
what Spark has against an aggregate in the output mode `append`.
"""

import sys

from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from tidelog.spark.engine.session import prepare_environment
from tidelog.spark.pipeline.checks.streaming import refuse_unsupported

if __name__ == "__main__":
    servers, topic = sys.argv[1:]
    prepare_environment()
    builder = SparkSession.builder.remote("local[1]").config("spark.ui.enabled", "false")
    spark = builder.config("spark.python.authenticate.socketTimeout", "120s").getOrCreate()
    place = {"kafka.bootstrap.servers": servers, "subscribe": topic}
    print(spark.read.format("tidelog").options(**place).load().count(), flush=True)
    stream = spark.readStream.format("tidelog").options(**place, startingOffsets="earliest").load()
    query = stream.writeStream.format("memory").queryName("seen").trigger(availableNow=True).start()
    query.awaitTermination(300)
    print(spark.table("seen").count(), flush=True)
    refuse_unsupported(stream, "append")
    try:
        refuse_unsupported(stream.groupBy("key").count(), "append")
    except AnalysisException as error:
        print(error.getCondition(), flush=True)
    spark.stop()
