package main

import (
	"context"
	"errors"
	"slices"

	"github.com/twmb/franz-go/pkg/kadm"
)

// groupCommand runs the commands about groups and their members; ok is false for any other.
func (a *agent) groupCommand(ctx context.Context, c command) (result any, ok bool, err error) {
	switch c.Do {
	case "join_group":
		a.members[c.Member], err = joinGroup(c)
	case "take_notes":
		result = a.members[c.Member].takeNotes()
	case "commit":
		err = a.members[c.Member].commit(ctx, c)
	case "committed":
		result, err = a.committed(ctx, c)
	case "leave_group":
		m := a.members[c.Member]
		delete(a.members, c.Member)
		m.close()
		result = m.takeNotes()
	case "list_groups":
		result, err = a.listGroups(ctx)
	case "describe_group":
		result, err = a.describeGroup(ctx, c)
	case "delete_group":
		_, err = a.admin.DeleteGroup(ctx, c.Group)
	case "group_offsets":
		result, err = a.groupOffsets(ctx, c)
	case "alter_group_offsets":
		offsets := kadm.Offsets{}
		for _, one := range c.Places {
			offsets.Add(kadm.Offset{Topic: one[0].(string), Partition: int32(one[1].(float64)),
				At: int64(one[2].(float64)), Metadata: one[3].(string), LeaderEpoch: -1})
		}
		err = a.admin.CommitAllOffsets(ctx, c.Group, offsets)
	case "delete_group_offsets":
		places := kadm.TopicsSet{}
		for _, one := range c.Places {
			places.Add(one[0].(string), int32(one[1].(float64)))
		}
		var answers kadm.DeleteOffsetsResponses
		answers, err = a.admin.DeleteOffsets(ctx, c.Group, places)
		err = errors.Join(err, answers.Error())
	default:
		return nil, false, nil
	}
	return result, true, err
}

func (a *agent) committed(ctx context.Context, c command) (any, error) {
	m := a.members[c.Member]
	found, err := kadm.NewClient(m.client).FetchOffsets(ctx, m.group)
	if err = errors.Join(err, found.Error()); err != nil {
		return nil, err
	}
	committed := [][]any{}
	for _, offset := range found.Sorted() {
		if offset.Topic == m.topic && slices.Contains(c.PartitionIDs, offset.Partition) {
			committed = append(committed, []any{offset.Partition, offset.At, offset.Metadata})
		}
	}
	return committed, nil
}

func (a *agent) listGroups(ctx context.Context) (any, error) {
	found, err := a.admin.ListGroups(ctx)
	listed := [][]any{}
	for _, group := range found.Sorted() {
		listed = append(listed, []any{group.Group, group.State})
	}
	return listed, err
}

func (a *agent) describeGroup(ctx context.Context, c command) (any, error) {
	found, err := a.admin.DescribeGroups(ctx, c.Group)
	if err = errors.Join(err, found.Error()); err != nil {
		return nil, err
	}
	group := found[c.Group]
	members := [][]any{}
	for _, m := range group.Members {
		partitions := [][]any{}
		if assigned, ok := m.Assigned.AsConsumer(); ok {
			for _, topic := range assigned.Topics {
				for _, partition := range topic.Partitions {
					partitions = append(partitions, []any{topic.Topic, partition})
				}
			}
		}
		members = append(members, []any{m.ClientID, m.ClientHost, m.InstanceID, partitions})
	}
	return map[string]any{"state": group.State, "assignor": group.Protocol, "members": members}, nil
}

func (a *agent) groupOffsets(ctx context.Context, c command) (any, error) {
	found, err := a.admin.FetchOffsets(ctx, c.Group)
	if err = errors.Join(err, found.Error()); err != nil {
		return nil, err
	}
	offsets := [][]any{}
	for _, offset := range found.Sorted() {
		offsets = append(offsets, []any{offset.Topic, offset.Partition, offset.At, offset.Metadata})
	}
	return offsets, nil
}
