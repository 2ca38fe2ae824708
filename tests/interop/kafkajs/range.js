// The range assignor for KafkaJS, which brings none: the one that every client knows, so that all can share a group.
const { AssignerProtocol } = require('kafkajs')

module.exports = ({ cluster }) => ({
  name: 'range',
  version: 0,

  protocol({ topics }) {
    return { name: this.name, metadata: AssignerProtocol.MemberMetadata.encode({ version: this.version, topics }) }
  },

  async assign({ members, topics }) {
    const sorted = members.map(({ memberId }) => memberId).sort()
    const assignments = Object.fromEntries(sorted.map((memberId) => [memberId, {}]))
    for (const topic of topics) {
      const partitions = cluster.findTopicPartitionMetadata(topic).map((one) => one.partitionId).sort((a, b) => a - b)
      const [each, more] = [Math.floor(partitions.length / sorted.length), partitions.length % sorted.length]
      sorted.forEach((memberId, n) => {
        assignments[memberId][topic] = partitions.splice(0, each + (n < more ? 1 : 0))
      })
    }
    return sorted.map((memberId) => ({
      memberId,
      memberAssignment: AssignerProtocol.MemberAssignment.encode({
        version: this.version,
        assignment: assignments[memberId],
        userData: Buffer.alloc(0),
      }),
    }))
  },
})
