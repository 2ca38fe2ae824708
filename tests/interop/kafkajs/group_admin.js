// What KafkaJS's admin client can do with groups and their offsets.
const { AssignerProtocol } = require('kafkajs')

function described({ clientId, clientHost, memberAssignment }) {
  const decoded = AssignerProtocol.MemberAssignment.decode(memberAssignment)
  const places = Object.entries(decoded ? decoded.assignment : {})
  return [clientId, clientHost, null, places.flatMap(([topic, indexes]) => indexes.map((index) => [topic, index]))]
}

module.exports = (admin) => ({
  async list_groups() {
    const { groups } = await admin().listGroups()
    return groups.map(({ groupId }) => [groupId, null])
  },

  async describe_group({ group }) {
    const { groups } = await admin().describeGroups([group])
    const [{ state, protocol, members }] = groups
    return { state, assignor: protocol, members: members.map(described) }
  },

  async delete_group({ group }) {
    await admin().deleteGroups([group])
    return null
  },

  async group_offsets({ group }) {
    const topics = await admin().fetchOffsets({ groupId: group })
    return topics.flatMap(({ topic, partitions }) =>
      partitions.map(({ partition, offset, metadata }) => [topic, partition, Number(offset), metadata ?? '']),
    )
  },

  // setOffsets joins the group for a moment; it cannot set the words beside an offset.
  async alter_group_offsets({ group, places: offsets }) {
    const topics = [...new Set(offsets.map(([topic]) => topic))]
    for (const topic of topics) {
      const partitions = offsets
        .filter(([name]) => name === topic)
        .map(([, partition, offset]) => ({ partition, offset: String(offset) }))
      await admin().setOffsets({ groupId: group, topic, partitions })
    }
    return null
  },
})
