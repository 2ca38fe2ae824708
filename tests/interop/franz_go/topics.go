package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func (a *agent) createTopic(ctx context.Context, c command) (any, error) {
	configs := map[string]*string{}
	for name, value := range c.Configs {
		configs[name] = &value
	}
	create := a.admin.CreateTopics
	if c.ValidateOnly {
		create = a.admin.ValidateCreateTopics
	}
	answers, err := create(ctx, c.PartitionIDs[0], c.ReplicationFactor, configs, c.Topic)
	return nil, errors.Join(err, answers.Error())
}

func (a *agent) describeTopic(ctx context.Context, c command) (any, error) {
	found, err := a.admin.ListTopics(ctx, c.Topic)
	if err = errors.Join(err, found.Error()); err != nil {
		return nil, err
	}
	partitions := [][]any{}
	for _, partition := range found[c.Topic].Partitions.Sorted() {
		partitions = append(partitions, []any{partition.Partition, partition.Leader, partition.Replicas, partition.ISR})
	}
	return partitions, nil
}

func (a *agent) describeConfigs(ctx context.Context, c command) (any, error) {
	var found kadm.ResourceConfigs
	var err error
	if c.Kind == "broker" {
		var id int32
		if _, err := fmt.Sscan(c.Name, &id); err != nil {
			return nil, err
		}
		found, err = a.admin.DescribeBrokerConfigs(ctx, id)
	} else {
		found, err = a.admin.DescribeTopicConfigs(ctx, c.Name)
	}
	if err != nil {
		return nil, err
	}
	resource, err := found.On(c.Name, nil)
	if err = errors.Join(err, resource.Err); err != nil {
		return nil, err
	}
	entries := [][]any{}
	for _, config := range resource.Configs {
		synonyms := [][2]any{}
		for _, synonym := range config.Synonyms {
			synonyms = append(synonyms, [2]any{synonym.Key, synonym.Value})
		}
		isDefault := config.Source == kmsg.ConfigSourceDefaultConfig
		entries = append(entries, []any{config.Key, config.Value, isDefault, false, config.Sensitive, synonyms})
	}
	return entries, nil
}

func (a *agent) alterConfigs(ctx context.Context, c command) error {
	operations := map[string]kadm.IncrementalOp{
		"set": kadm.SetConfig, "delete": kadm.DeleteConfig, "append": kadm.AppendConfig, "subtract": kadm.SubtractConfig,
	}
	var changes []kadm.AlterConfig
	for _, change := range c.Changes {
		changes = append(changes, kadm.AlterConfig{Op: operations[*change[0]], Name: *change[1], Value: change[2]})
	}
	var answers kadm.AlterConfigsResponses
	var err error
	if c.Kind == "broker" {
		var id int32
		if _, err := fmt.Sscan(c.Name, &id); err != nil {
			return err
		}
		answers, err = a.admin.AlterBrokerConfigs(ctx, changes, id)
	} else {
		answers, err = a.admin.AlterTopicConfigs(ctx, changes, c.Name)
	}
	if err != nil {
		return err
	}
	answer, err := answers.On(c.Name, nil)
	return errors.Join(err, answer.Err)
}

func (a *agent) deleteRecords(ctx context.Context, c command) (any, error) {
	offsets := kadm.Offsets{}
	offsets.Add(kadm.Offset{Topic: c.Topic, Partition: c.Partition, At: c.Before})
	answers, err := a.admin.DeleteRecords(ctx, offsets)
	if err = errors.Join(err, answers.Error()); err != nil {
		return nil, err
	}
	answer, _ := answers.Lookup(c.Topic, c.Partition)
	return answer.LowWatermark, nil
}

func (a *agent) describeCluster(ctx context.Context) (any, error) {
	found, err := a.admin.BrokerMetadata(ctx)
	if err != nil {
		return nil, err
	}
	brokers := [][2]any{}
	for _, broker := range found.Brokers {
		brokers = append(brokers, [2]any{broker.NodeID, fmt.Sprintf("%s:%d", broker.Host, broker.Port)})
	}
	return map[string]any{"cluster_id": found.Cluster, "controller": found.Controller, "brokers": brokers}, nil
}

func (a *agent) logSizes(ctx context.Context, c command) (any, error) {
	found, err := a.admin.DescribeAllLogDirs(ctx, nil)
	if err != nil {
		return nil, err
	}
	sizes := [][2]any{}
	for _, folders := range found {
		for _, folder := range folders {
			folder.Topics.Each(func(partition kadm.DescribedLogDirPartition) {
				if partition.Topic == c.Topic {
					sizes = append(sizes, [2]any{partition.Partition, partition.Size})
				}
			})
		}
	}
	return sizes, nil
}

func (a *agent) findOffset(ctx context.Context, c command) (any, error) {
	var found kadm.ListedOffsets
	var err error
	switch c.Spec {
	case -1:
		found, err = a.admin.ListEndOffsets(ctx, c.Topic)
	case -2:
		found, err = a.admin.ListStartOffsets(ctx, c.Topic)
	case -3:
		found, err = a.admin.ListMaxTimestampOffsets(ctx, c.Topic)
	default:
		found, err = a.admin.ListOffsetsAfterMilli(ctx, c.Spec, c.Topic)
	}
	if err != nil {
		return nil, err
	}
	offset, ok := found.Lookup(c.Topic, c.Partition)
	if !ok {
		return nil, fmt.Errorf("no answer for %s-%d", c.Topic, c.Partition)
	}
	if c.Spec >= 0 && offset.Timestamp < 0 {
		// kadm answers a time beyond the last record with the end offset; the broker said "none".
		return -1, offset.Err
	}
	return offset.Offset, offset.Err
}
