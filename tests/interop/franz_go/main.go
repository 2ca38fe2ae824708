// franz-go behind a line protocol: a JSON command in, a JSON answer out; tests/interop/agent.py describes it.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

type agent struct {
	bootstrap string
	admin     *kadm.Client
	members   map[string]*member
	writers   map[string]*writer

	transactors  map[string]*kgo.Client
	shareMembers map[string]*shareMember
}

// command holds the arguments of every command; each reads the ones it knows.
type command struct {
	Do                string            `json:"do"`
	Topic             string            `json:"topic"`
	Records           []record          `json:"records"`
	Codec             string            `json:"codec"`
	Acks              int               `json:"acks"`
	Idempotent        bool              `json:"idempotent"`
	SmallBatches      bool              `json:"small_batches"`
	Start             int64             `json:"start"`
	Count             int               `json:"count"`
	PartitionIDs      partitionIDs      `json:"partitions"`
	PatienceMs        int64             `json:"patience_ms"`
	Spec              int64             `json:"spec"`
	Partition         int32             `json:"partition"`
	ReplicationFactor int16             `json:"replication_factor"`
	Configs           map[string]string `json:"configs"`
	ValidateOnly      bool              `json:"validate_only"`
	Kind              string            `json:"kind"`
	Name              string            `json:"name"`
	Changes           [][3]*string      `json:"changes"`
	Total             int               `json:"total"`
	Before            int64             `json:"before"`
	Member            string            `json:"member"`
	Bootstrap         string            `json:"bootstrap"`
	Group             string            `json:"group"`
	Assignor          string            `json:"assignor"`
	InstanceID        *string           `json:"instance_id"`
	SessionTimeoutMs  int64             `json:"session_timeout_ms"`
	AutoCommit        bool              `json:"auto_commit"`
	Reset             string            `json:"reset"`
	Offsets           map[string][]any  `json:"offsets"`
	Wait              bool              `json:"wait"`
	Places            [][]any           `json:"places"`
	Writer            string            `json:"writer"`
	EveryMs           int64             `json:"every_ms"`
	Transactor        string            `json:"transactor"`
	TransactionalID   string            `json:"transactional_id"`
	TimeoutMs         int64             `json:"timeout_ms"`
	Placed            [][3]any          `json:"placed"`
	Source            string            `json:"source"`
	Target            string            `json:"target"`
	Commit            bool              `json:"commit"`
	Login             login             `json:"login"`
	Values            []string          `json:"values"`
	Topics            []string          `json:"topics"`
	Types             []string          `json:"types"`
	Exact             bool              `json:"exact"`
	MaxRecords        int32             `json:"max_records"`
}

// partitionIDs is a list of partitions when reading and a count when creating a topic.
type partitionIDs []int32

func (p *partitionIDs) UnmarshalJSON(text []byte) error {
	var count int32
	if err := json.Unmarshal(text, &count); err == nil {
		*p = partitionIDs{count}
		return nil
	}
	return json.Unmarshal(text, (*[]int32)(p))
}

type unfinished struct{ got int }

func (u unfinished) Error() string { return fmt.Sprintf("consume, after %d records", u.got) }

func (a *agent) run(ctx context.Context, c command) (any, error) {
	if result, ok, err := a.groupCommand(ctx, c); ok {
		return result, err
	}
	if result, ok, err := a.writerCommand(c); ok {
		return result, err
	}
	if result, ok, err := a.transactionCommand(ctx, c); ok {
		return result, err
	}
	if result, ok, err := a.shareCommand(ctx, c); ok {
		return result, err
	}
	if result, ok, err := a.shareAdminCommand(ctx, c); ok {
		return result, err
	}
	switch c.Do {
	case "produce":
		return a.produce(ctx, c)
	case "consume":
		return a.consume(ctx, c)
	case "find_offset":
		return a.findOffset(ctx, c)
	case "create_topic":
		return a.createTopic(ctx, c)
	case "list_topics":
		found, err := a.admin.ListTopicsWithInternal(ctx)
		return found.Names(), err
	case "describe_topic":
		return a.describeTopic(ctx, c)
	case "describe_configs":
		return a.describeConfigs(ctx, c)
	case "alter_configs":
		return nil, a.alterConfigs(ctx, c)
	case "add_partitions":
		answers, err := a.admin.UpdatePartitions(ctx, c.Total, c.Topic)
		return nil, errors.Join(err, answers.Error())
	case "delete_records":
		return a.deleteRecords(ctx, c)
	case "delete_topic":
		answers, err := a.admin.DeleteTopics(ctx, c.Topic)
		return nil, errors.Join(err, answers.Error())
	case "describe_cluster":
		return a.describeCluster(ctx)
	case "secured":
		return secured(ctx, c)
	case "log_sizes":
		return a.logSizes(ctx, c)
	}
	return nil, fmt.Errorf("no command %q", c.Do)
}

func answer(result any, err error) map[string]any {
	var refused *kerr.Error
	var late unfinished
	switch {
	case err == nil:
		return map[string]any{"ok": result}
	case errors.As(err, &refused):
		return map[string]any{"refused": refused.Code, "message": refused.Message}
	case errors.As(err, &late):
		return map[string]any{"unfinished": late.Error(), "got": late.got}
	default:
		return map[string]any{"failed": err.Error()}
	}
}

func seeds(bootstrap string) []string { return strings.Split(bootstrap, ",") }

func main() {
	bootstrap := os.Args[1]
	client, err := kgo.NewClient(kgo.SeedBrokers(seeds(bootstrap)...), kgo.MetadataMinAge(50*time.Millisecond))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	defer client.Close()
	a := &agent{
		bootstrap, kadm.NewClient(client), map[string]*member{}, map[string]*writer{}, map[string]*kgo.Client{},
		map[string]*shareMember{},
	}
	lines := bufio.NewReaderSize(os.Stdin, 1<<20)
	answers := json.NewEncoder(os.Stdout)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return
		}
		var c command
		if err := json.Unmarshal(line, &c); err != nil {
			_ = answers.Encode(answer(nil, err))
			continue
		}
		result, err := a.run(context.Background(), c)
		_ = answers.Encode(answer(result, err))
	}
}
