// KafkaJS with @kafkajs/confluent-schema-registry: `write` and `read` records, and `look` at what a registry says.
'use strict'

const { Kafka, logLevel } = require('kafkajs')
const { SchemaRegistry, SchemaType } = require('@kafkajs/confluent-schema-registry')

const [, , bootstrap, url, command, topic, argument] = process.argv
const host = url.split(',')[0]
const registry = new SchemaRegistry({ host })
const kafka = new Kafka({ brokers: bootstrap.split(','), logLevel: logLevel.ERROR })

const field = (name, type, more = {}) => ({ name, type, ...more })
const event = (...fields) => ({ type: 'record', name: 'Event', namespace: 'interop', fields })
const FIELDS = [field('name', 'string'), field('count', 'int')]
const avro = (schema) => ({ type: SchemaType.AVRO, schema: JSON.stringify(schema) })

async function write(count) {
  const { id } = await registry.register(avro(event(...FIELDS)), { subject: `${topic}-value` })
  const producer = kafka.producer()
  await producer.connect()
  for (let number = 0; number < count; number++) {
    const value = await registry.encode(id, { name: 'kafkajs', count: number })
    await producer.send({ topic, messages: [{ value }] })
  }
  await producer.disconnect()
  return { id }
}

async function read(count) {
  const consumer = kafka.consumer({ groupId: `kafkajs-${topic}` })
  const found = []
  await consumer.connect()
  await consumer.subscribe({ topics: [topic], fromBeginning: true })
  await new Promise((resolve, reject) => {
    consumer
      .run({
        eachMessage: async ({ message }) => {
          const { name, count: number } = await registry.decode(message.value)
          found.push([name, number])
          if (found.length === count) resolve()
        },
      })
      .catch(reject)
  })
  await consumer.disconnect()
  return found
}

async function refusal(attempt) {
  try {
    await attempt()
    return null
  } catch (error) {
    return { status: error.status ?? null, message: error.message }
  }
}

async function look() {
  const subject = `${topic}-value`
  const { id } = await registry.register(avro(event(...FIELDS)), { subject })
  const proto = { type: SchemaType.PROTOBUF, schema: 'syntax = "proto3"; message Thing { string name = 1; }' }
  const json = {
    type: SchemaType.JSON,
    schema: JSON.stringify({ type: 'object', properties: { name: { type: 'string' } }, required: ['name'] }),
  }
  const thing = await registry.register(proto, { subject: `${topic}-proto-value` })
  const shape = await registry.register(json, { subject: `${topic}-json-value` })
  const roundTrip = async (schema) => (await registry.decode(await registry.encode(schema.id, { name: 'x' }))).name
  return {
    id,
    latest: await registry.getLatestSchemaId(subject),
    of_version: await registry.getRegistryId(subject, 1),
    of_schema: await registry.getRegistryIdBySchema(subject, avro(event(...FIELDS))),
    protobuf: await roundTrip(thing),
    json: await roundTrip(shape),
    incompatible: await refusal(() => registry.register(avro(event(...FIELDS, field('more', 'int'))), { subject })),
    unknown_id: await refusal(() => new SchemaRegistry({ host }, {}).getSchema(987654)),
    invalid: await refusal(() =>
      registry.register({ type: SchemaType.AVRO, schema: '{"type":"record","name":"E","fields":1}' }, { subject })
    ),
  }
}

const commands = { write: () => write(Number(argument)), read: () => read(Number(argument)), look }

commands[command]()
  .then((answer) => {
    console.log(JSON.stringify(answer))
    process.exit(0)
  })
  .catch((error) => {
    console.error(error)
    process.exit(1)
  })
