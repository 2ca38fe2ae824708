package main

import (
	"context"
	"errors"

	"github.com/twmb/franz-go/pkg/kadm"
)

// shareAdminCommand runs the admin calls about share groups; ok is false for any other.
func (a *agent) shareAdminCommand(ctx context.Context, c command) (result any, ok bool, err error) {
	switch c.Do {
	case "list_typed_groups":
		result, err = a.listTypedGroups(ctx, c)
	case "describe_share_group":
		result, err = a.describeShareGroup(ctx, c)
	case "share_offsets":
		result, err = a.shareOffsets(ctx, c)
	case "alter_share_offsets":
		offsets := kadm.Offsets{}
		for _, one := range c.Places {
			offsets.Add(kadm.Offset{Topic: one[0].(string), Partition: int32(one[1].(float64)), At: int64(one[2].(float64))})
		}
		answers, failed := a.admin.AlterShareGroupOffsets(ctx, c.Group, offsets)
		err = errors.Join(failed, answers.Error())
	case "delete_share_offsets":
		answers, failed := a.admin.DeleteShareGroupOffsets(ctx, c.Group, c.Topics...)
		err = errors.Join(failed, answers.Error())
	case "delete_share_group":
		answer, failed := a.admin.DeleteGroup(ctx, c.Group)
		err = errors.Join(failed, answer.Err)
	default:
		return nil, false, nil
	}
	return result, true, err
}

func (a *agent) listTypedGroups(ctx context.Context, c command) (any, error) {
	found, err := a.admin.ListGroupsByType(ctx, c.Types)
	listed := [][4]string{}
	for _, group := range found.Sorted() {
		listed = append(listed, [4]string{group.Group, "", group.ProtocolType, group.State})
	}
	return listed, err
}

func (a *agent) describeShareGroup(ctx context.Context, c command) (any, error) {
	found, err := a.admin.DescribeShareGroups(ctx, c.Group)
	if err = errors.Join(err, found.Error()); err != nil {
		return nil, err
	}
	group := found[c.Group]
	members := [][3]any{}
	for _, member := range group.Members {
		places := [][2]any{}
		member.Assignment.Each(func(topic string, partition int32) {
			places = append(places, [2]any{topic, partition})
		})
		members = append(members, [3]any{member.ClientID, member.ClientHost, places})
	}
	return map[string]any{"state": group.GroupState, "members": members, "coordinator": group.Coordinator.NodeID}, nil
}

func (a *agent) shareOffsets(ctx context.Context, c command) (any, error) {
	found, err := a.admin.DescribeShareGroupOffsets(ctx, c.Group)
	if err = errors.Join(err, found.Error()); err != nil {
		return nil, err
	}
	offsets := [][4]any{}
	for _, one := range found[c.Group].Offsets.Sorted() {
		offsets = append(offsets, [4]any{one.Topic, one.Partition, one.StartOffset, one.Lag})
	}
	return offsets, found[c.Group].Offsets.Error()
}
