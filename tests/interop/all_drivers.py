"""Every client there is, by name."""

from drivers import aiokafka_client, confluent, franz_go, java, kafka_python, kafkajs, kcat

DRIVERS = {
    module.Driver.name: module
    for module in (confluent, aiokafka_client, kafka_python, kcat, java, kafkajs, franz_go)
}
