// KafkaJS behind a line protocol: a JSON command in, a JSON answer out; tests/interop/agent.py describes it.
const readline = require('readline')
const { CompressionTypes, ConfigResourceTypes, Kafka, logLevel } = require('kafkajs')
require('./codecs')
const members = require('./groups')
const writers = require('./writers')
const transactions = require('./transactions')
const groupAdmin = require('./group_admin')
const secured = require('./secured')

const CODECS = {
  none: CompressionTypes.None,
  gzip: CompressionTypes.GZIP,
  snappy: CompressionTypes.Snappy,
  lz4: CompressionTypes.LZ4,
  zstd: CompressionTypes.ZSTD,
}
const LATEST = -1
const EARLIEST = -2
const DEFAULT_SOURCE = 5

const kafka = new Kafka({ brokers: process.argv[2].split(','), logLevel: logLevel.NOTHING, retry: { retries: 3 } })
// Replaced for every command: an admin client asks for the metadata of every topic it ever named, and once one of
// them is deleted each later call fails.
let admin

const bytes = (text) => (text === null ? null : Buffer.from(text, 'base64'))

function message([key, value, headers, timestamp, partition]) {
  const byName = {}
  for (const [name, text] of headers) byName[name] = [...(byName[name] || []), bytes(text)]
  const extra = timestamp === null ? {} : { timestamp: String(timestamp) }
  return { key: bytes(key), value: bytes(value), headers: byName, partition, ...extra }
}

// KafkaJS gives the base offset of each partition of a send; the records of a partition follow in order.
function offsets(answer, records) {
  const next = Object.fromEntries(answer.map((entry) => [entry.partition, Number(entry.baseOffset)]))
  return records.map(([, , , , partition]) => next[partition]++)
}

const resource = ({ kind, name }) => ({ type: ConfigResourceTypes[kind.toUpperCase()], name })

const commands = {
  async produce({ topic, records, codec, acks, idempotent, small_batches: small }) {
    const producer = kafka.producer({ idempotent, allowAutoTopicCreation: true })
    await producer.connect()
    try {
      const size = small ? 20 : records.length
      const written = []
      for (let first = 0; first < records.length; first += size) {
        const part = records.slice(first, first + size)
        // One after the other: KafkaJS promises no order among sends that overlap.
        const answer = await producer.send({ topic, acks, compression: CODECS[codec], messages: part.map(message) })
        written.push(...(acks === 0 ? [] : offsets(answer, part)))
      }
      return written
    } finally {
      await producer.disconnect()
    }
  },

  async find_offset({ topic, spec, partition }) {
    if (spec === LATEST || spec === EARLIEST) {
      const found = (await admin.fetchTopicOffsets(topic)).find((entry) => entry.partition === partition)
      return Number(spec === LATEST ? found.high : found.low)
    }
    const found = await admin.fetchTopicOffsetsByTimestamp(topic, spec)
    return Number(found.find((entry) => entry.partition === partition).offset)
  },

  async create_topic({ topic, partitions, replication_factor, configs, validate_only }) {
    const configEntries = Object.entries(configs).map(([name, value]) => ({ name, value }))
    const created = await admin.createTopics({
      validateOnly: validate_only,
      waitForLeaders: !validate_only,
      topics: [{ topic, numPartitions: partitions, replicationFactor: replication_factor, configEntries }],
    })
    if (!created) throw Object.assign(new Error(`${topic} exists`), { code: 36 })
    return null
  },

  list_topics: () => admin.listTopics(),

  async describe_topic({ topic }) {
    const { topics } = await admin.fetchTopicMetadata({ topics: [topic] })
    return topics[0].partitions.map((entry) => [entry.partitionId, entry.leader, entry.replicas, entry.isr])
  },

  async describe_configs(wanted) {
    const { resources } = await admin.describeConfigs({ resources: [resource(wanted)], includeSynonyms: true })
    return resources[0].configEntries.map((entry) => [
      entry.configName,
      entry.configValue,
      entry.configSource === DEFAULT_SOURCE || entry.isDefault,
      entry.readOnly,
      entry.isSensitive,
      (entry.configSynonyms || []).map((synonym) => [synonym.configName, synonym.configValue]),
    ])
  },

  async replace_configs({ configs, ...wanted }) {
    const configEntries = Object.entries(configs).map(([name, value]) => ({ name, value }))
    await admin.alterConfigs({ validateOnly: false, resources: [{ ...resource(wanted), configEntries }] })
    return null
  },

  async add_partitions({ topic, total }) {
    await admin.createPartitions({ topicPartitions: [{ topic, count: total }] })
    return null
  },

  async delete_records({ topic, before, partition }) {
    await admin.fetchTopicMetadata({ topics: [topic] }) // deleteTopicRecords finds the leader only in loaded metadata
    await admin.deleteTopicRecords({ topic, partitions: [{ partition, offset: String(before) }] })
    return commands.find_offset({ topic, spec: EARLIEST, partition })
  },

  async delete_topic({ topic }) {
    await admin.deleteTopics({ topics: [topic] })
    return null
  },

  async describe_cluster() {
    const found = await admin.describeCluster()
    const brokers = found.brokers.map((broker) => [broker.nodeId, `${broker.host}:${broker.port}`])
    return { cluster_id: found.clusterId, controller: found.controller, brokers }
  },

  secured,

  ...groupAdmin(() => admin),
}

const first = (error) => (error.errors || [])[0] || ((error.partitions || error.groups || [])[0] || {}).error

// KafkaJS wraps the protocol's error in errors of its own: the code sits somewhere down the chain of causes.
function errorCode(failure) {
  for (let error = failure; error; error = error.cause || error.originalError || first(error)) {
    if (typeof error.code === 'number') return error.code
  }
  return null
}

async function withAdmin(command, args) {
  admin = kafka.admin()
  await admin.connect()
  try {
    return await command(args)
  } finally {
    await admin.disconnect()
  }
}

async function answer(line) {
  const { do: name, ...args } = JSON.parse(line)
  try {
    const own = members[name] || writers[name] || transactions[name]
    const result = await (own ? own(args) : withAdmin(commands[name], args))
    return { ok: result ?? null }
  } catch (failure) {
    if ('unfinished' in failure) return { unfinished: failure.message, got: failure.unfinished }
    const code = errorCode(failure)
    return code === null ? { failed: failure.stack } : { refused: code, message: failure.message }
  }
}

async function main() {
  for await (const line of readline.createInterface({ input: process.stdin })) {
    process.stdout.write(`${JSON.stringify(await answer(line))}\n`)
  }
  process.exit(0) // members that nobody closed would keep the process alive
}

main()
