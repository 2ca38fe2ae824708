"""`spark.read` and `spark.readStream`: what a query reads, planned on the driver, read by tasks."""
