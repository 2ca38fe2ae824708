// Members of groups on KafkaJS: each reads on its own and notes what happens; ../group_member.py describes it.
const { Kafka, PartitionAssigners, logLevel } = require('kafkajs')
const range = require('./range')

const ASSIGNERS = { range, roundrobin: PartitionAssigners.roundRobin }
const members = {}

class Member {
  constructor({ bootstrap, group, topic, assignor, session_timeout_ms: sessionTimeout, auto_commit: autoCommit, reset }) {
    Object.assign(this, { group, topic, notes: [], owned: [], positions: {} })
    // Gives up late: a broker that restarts is no reason to.
    const kafka = new Kafka({
      clientId: 'kafkajs',
      brokers: bootstrap.split(','),
      logLevel: logLevel.NOTHING,
      retry: { retries: 100, initialRetryTime: 100, maxRetryTime: 500 },
    })
    this.admin = kafka.admin()
    this.consumer = kafka.consumer({
      groupId: group,
      partitionAssigners: [ASSIGNERS[assignor]],
      sessionTimeout,
      heartbeatInterval: 200,
      maxWaitTimeInMs: 100,
    })
    const { GROUP_JOIN, REBALANCING, CRASH } = this.consumer.events
    this.consumer.on(REBALANCING, () => this.revoke())
    this.consumer.on(GROUP_JOIN, ({ payload }) => {
      this.revoke()
      this.owned = payload.memberAssignment[topic] || []
      this.note('assigned', this.owned)
    })
    this.consumer.on(CRASH, ({ payload }) => this.failed(payload.error))
    this.running = this.run(autoCommit, reset).catch((error) => this.failed(error))
  }

  async run(autoCommit, reset) {
    await this.admin.connect()
    await this.consumer.connect()
    await this.consumer.subscribe({ topic: this.topic, fromBeginning: reset === 'earliest' })
    await this.consumer.run({
      autoCommit,
      autoCommitInterval: 200,
      eachMessage: async ({ partition, message }) => {
        this.positions[partition] = Number(message.offset) + 1
        this.note('records', [[partition, Number(message.offset)]])
      },
    })
  }

  note(kind, what) {
    this.notes.push([Date.now(), kind, what])
  }

  revoke() {
    if (this.owned.length > 0) this.note('revoked', this.owned)
    this.owned = []
  }

  failed(error) {
    this.note('failed', [error.code ?? -1, String(error)])
  }

  async commit(offsets) {
    const named = offsets ?? Object.fromEntries(Object.entries(this.positions).map(([index, next]) => [index, [next, '']]))
    await this.consumer.commitOffsets(
      Object.entries(named).map(([index, [offset, metadata]]) => ({
        topic: this.topic,
        partition: Number(index),
        offset: String(offset),
        metadata,
      })),
    )
  }

  async committed(partitions) {
    const [found] = await this.admin.fetchOffsets({ groupId: this.group, topics: [this.topic] })
    return found.partitions
      .filter(({ partition, offset }) => partitions.includes(partition) && Number(offset) >= 0)
      .map(({ partition, offset, metadata }) => [partition, Number(offset), metadata ?? ''])
  }

  async close() {
    await this.running
    await this.consumer.disconnect()
    await this.admin.disconnect()
  }
}

const take = (member) => member.notes.splice(0)

module.exports = {
  async join_group({ member, ...wanted }) {
    members[member] = new Member(wanted)
    return null
  },

  take_notes: async ({ member }) => take(members[member]),

  // KafkaJS knows one way to commit; not to wait for it is up to its user.
  async commit({ member, offsets, wait }) {
    const committing = members[member].commit(offsets)
    if (wait) await committing
    else committing.catch((error) => members[member].failed(error))
    return null
  },

  committed: ({ member, partitions }) => members[member].committed(partitions),

  async leave_group({ member: name }) {
    const member = members[name]
    delete members[name]
    await member.close()
    return take(member)
  },
}
