// Writes numbers to one partition and notes what became of each; ../stream_writer.py describes it.
const { Kafka, logLevel } = require('kafkajs')

const writers = {}
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms))

class Writer {
  constructor({ bootstrap, topic, partition, every_ms: every }) {
    Object.assign(this, { topic, partition, every, fates: [], stopping: false })
    const kafka = new Kafka({
      clientId: 'kafkajs',
      brokers: bootstrap.split(','),
      logLevel: logLevel.NOTHING,
      retry: { retries: 100, initialRetryTime: 100, maxRetryTime: 500 },
    })
    this.producer = kafka.producer({ idempotent: true, maxInFlightRequests: 1 })
    this.running = this.run()
  }

  async run() {
    // Unlike a send, it gives up on the first broker that is away.
    while (!(await this.producer.connect().then(() => true, () => false))) await pause(this.every)
    for (let number = 0; !this.stopping; number++) {
      const messages = [{ value: String(number), partition: this.partition }]
      try {
        // One after the other: KafkaJS promises no order among sends that overlap.
        const [{ baseOffset }] = await this.producer.send({ topic: this.topic, acks: -1, messages })
        this.fates.push([number, Number(baseOffset), ''])
      } catch (error) {
        this.fates.push([number, -1, String(error)])
      }
      await pause(this.every)
    }
    await this.producer.disconnect()
  }
}

const take = (writer) => writer.fates.splice(0)

module.exports = {
  async start_writing({ writer, ...wanted }) {
    writers[writer] = new Writer(wanted)
    return null
  },

  take_fates: async ({ writer }) => take(writers[writer]),

  async stop_writing({ writer: name }) {
    const writer = writers[name]
    delete writers[name]
    writer.stopping = true
    await writer.running
    return take(writer)
  },
}
