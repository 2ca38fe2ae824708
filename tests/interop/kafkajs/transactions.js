// Transactional producers, each step a command, and consumers of what is committed; ../transactor.py lists them.
const { Kafka, logLevel } = require('kafkajs')

const transactors = {}
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms))

const connection = (bootstrap) =>
  new Kafka({ brokers: bootstrap.split(','), logLevel: logLevel.NOTHING, retry: { retries: 5 } })

// One batch for each topic; KafkaJS sorts the partitions out.
function byTopic(records) {
  const topics = {}
  for (const [topic, partition, value] of records) (topics[topic] = topics[topic] || []).push({ partition, value })
  return Object.entries(topics).map(([topic, messages]) => ({ topic, messages }))
}

function unfinished(what, got) {
  throw Object.assign(new Error(what), { unfinished: got })
}

async function collect({ bootstrap, group, topic, count, patience_ms: patience, each }) {
  const consumer = connection(bootstrap).consumer({
    groupId: group,
    sessionTimeout: 10000,
    maxWaitTimeInMs: 100,
    readUncommitted: false,
  })
  await consumer.connect()
  await consumer.subscribe({ topic, fromBeginning: true })
  const found = []
  let failed = null
  await consumer.run({
    autoCommit: false,
    eachBatch: async ({ batch }) => {
      try {
        await each(batch)
      } catch (failure) {
        failed = failure
      }
      found.push(...batch.messages.map((message) => [batch.partition, message.value.toString()]))
    },
  })
  try {
    const deadline = Date.now() + patience
    while (found.length < count && failed === null) {
      if (Date.now() > deadline) unfinished('read', found.length)
      await pause(20)
    }
    if (failed) throw failed
    return found
  } finally {
    await consumer.disconnect()
  }
}

module.exports = {
  async txn_open({ transactor, bootstrap, transactional_id: transactionalId, timeout_ms: transactionTimeout }) {
    const producer = connection(bootstrap).producer({
      transactionalId,
      transactionTimeout,
      maxInFlightRequests: 1,
      idempotent: true,
    })
    transactors[transactor] = { producer, bootstrap }
    await producer.connect() // which asks for a producer id, and so aborts what was left open
    return null
  },

  async txn_begin({ transactor }) {
    transactors[transactor].transaction = await transactors[transactor].producer.transaction()
    return null
  },

  async txn_send({ transactor, placed }) {
    await transactors[transactor].transaction.sendBatch({ topicMessages: byTopic(placed), acks: -1 })
    return null
  },

  async txn_commit({ transactor }) {
    await transactors[transactor].transaction.commit()
    return null
  },

  async txn_abort({ transactor }) {
    await transactors[transactor].transaction.abort()
    return null
  },

  async txn_close({ transactor }) {
    await transactors[transactor].producer.disconnect()
    delete transactors[transactor]
    return null
  },

  async txn_copy({ transactor, source, target, group, count, commit, patience_ms }) {
    const { producer, bootstrap } = transactors[transactor]
    // One transaction for each partition that is read: KafkaJS gives a batch of one partition at a time.
    const each = async (batch) => {
      const transaction = await producer.transaction()
      const messages = batch.messages.map(({ value }) => ({ partition: batch.partition, value }))
      await transaction.send({ topic: target, messages, acks: -1 })
      const offset = String(Number(batch.lastOffset()) + 1)
      const topics = [{ topic: source, partitions: [{ partition: batch.partition, offset }] }]
      await transaction.sendOffsets({ consumerGroupId: group, topics })
      await (commit ? transaction.commit() : transaction.abort())
    }
    await collect({ bootstrap, group, topic: source, count, patience_ms, each })
    return null
  },

  read_committed: ({ bootstrap, topic, partitions, count, patience_ms }) =>
    collect({
      bootstrap,
      group: `reads ${topic} ${process.pid} ${Math.random()}`,
      topic,
      count,
      patience_ms,
      each: async () => {},
    }).then((found) => found.filter(([partition]) => partitions.includes(partition))),
}
