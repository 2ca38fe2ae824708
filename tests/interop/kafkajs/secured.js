// Writes values and reads them back over a connection that was authenticated; ../secured/clients.py describes it.
const fs = require('fs')
const { Kafka, logLevel } = require('kafkajs')

function sasl({ mechanism, username, password }) {
  if (mechanism !== 'OAUTHBEARER') return { mechanism: mechanism.toLowerCase(), username, password }
  return { mechanism: 'oauthbearer', oauthBearerProvider: async () => ({ value: password }) }
}

module.exports = async function secured({ login, topic, values }) {
  const kafka = new Kafka({
    brokers: [login.bootstrap],
    ssl: login.ca ? { ca: [fs.readFileSync(login.ca)] } : false,
    sasl: sasl(login),
    logLevel: logLevel.NOTHING,
    retry: { retries: 2, initialRetryTime: 50 },
  })
  const producer = kafka.producer({ allowAutoTopicCreation: true })
  await producer.connect()
  await producer.send({ topic, messages: values.map((value) => ({ value, partition: 0 })) })
  await producer.disconnect()
  const consumer = kafka.consumer({ groupId: topic })
  await consumer.connect()
  await consumer.subscribe({ topics: [topic], fromBeginning: true })
  const got = []
  await new Promise((resolve, reject) => {
    const eachMessage = async ({ message }) => {
      if (got.push(message.value.toString()) === values.length) resolve()
    }
    consumer.run({ eachMessage }).catch(reject)
  })
  await consumer.disconnect()
  return got
}
