package main

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

var assignors = map[string]kgo.GroupBalancer{
	"range":              kgo.RangeBalancer(),
	"roundrobin":         kgo.RoundRobinBalancer(),
	"sticky":             kgo.StickyBalancer(),
	"cooperative-sticky": kgo.CooperativeStickyBalancer(),
}

var resets = map[string]kgo.Offset{
	"earliest": kgo.NewOffset().AtStart(),
	"latest":   kgo.NewOffset().AtEnd(),
	"none":     kgo.NoResetOffset(),
}

// member reads on its own and notes what happens; tests/interop/group_member.py describes it.
type member struct {
	client *kgo.Client
	group  string
	topic  string
	stop   context.CancelFunc
	done   chan struct{}
	mutex  sync.Mutex
	notes  [][]any
}

func (m *member) note(kind string, what any) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	m.notes = append(m.notes, []any{time.Now().UnixMilli(), kind, what})
}

func (m *member) takeNotes() [][]any {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	taken := m.notes
	m.notes = [][]any{}
	return taken
}

func (m *member) failed(err error) {
	var refused *kerr.Error
	if errors.As(err, &refused) {
		m.note("failed", []any{refused.Code, err.Error()})
	} else {
		m.note("failed", []any{-1, err.Error()})
	}
}

// joinGroup starts a member. Committing by marks keeps commits behind what was noted as read.
func joinGroup(c command) (*member, error) {
	m := &member{group: c.Group, topic: c.Topic, done: make(chan struct{}), notes: [][]any{}}
	moved := func(kind string) func(context.Context, *kgo.Client, map[string][]int32) {
		return func(_ context.Context, _ *kgo.Client, partitions map[string][]int32) {
			if len(partitions[c.Topic]) > 0 {
				m.note(kind, partitions[c.Topic])
			}
		}
	}
	options := []kgo.Opt{
		kgo.SeedBrokers(seeds(c.Bootstrap)...),
		kgo.ClientID("franz-go"),
		kgo.ConsumerGroup(c.Group),
		kgo.ConsumeTopics(c.Topic),
		kgo.Balancers(assignors[c.Assignor]),
		kgo.SessionTimeout(time.Duration(c.SessionTimeoutMs) * time.Millisecond),
		kgo.HeartbeatInterval(200 * time.Millisecond),
		kgo.ConsumeResetOffset(resets[c.Reset]),
		kgo.FetchMaxWait(100 * time.Millisecond),
		kgo.RetryBackoffFn(func(int) time.Duration { return 200 * time.Millisecond }),
		kgo.OnPartitionsAssigned(moved("assigned")),
		kgo.OnPartitionsLost(moved("revoked")),
	}
	if c.AutoCommit {
		options = append(options, kgo.AutoCommitMarks(), kgo.AutoCommitInterval(200*time.Millisecond),
			kgo.OnPartitionsRevoked(func(ctx context.Context, client *kgo.Client, partitions map[string][]int32) {
				if err := client.CommitMarkedOffsets(ctx); err != nil {
					m.failed(err)
				}
				moved("revoked")(ctx, client, partitions)
			}))
	} else {
		options = append(options, kgo.DisableAutoCommit(), kgo.OnPartitionsRevoked(moved("revoked")))
	}
	if c.InstanceID != nil {
		options = append(options, kgo.InstanceID(*c.InstanceID))
	}
	client, err := kgo.NewClient(options...)
	if err != nil {
		return nil, err
	}
	m.client = client
	ctx, cancel := context.WithCancel(context.Background())
	m.stop = cancel
	go m.poll(ctx)
	return m, nil
}

func (m *member) poll(ctx context.Context) {
	defer close(m.done)
	for ctx.Err() == nil {
		fetches := m.client.PollFetches(ctx)
		for _, failed := range fetches.Errors() {
			if !errors.Is(failed.Err, context.Canceled) {
				m.failed(failed.Err)
			}
		}
		read := [][2]int64{}
		records := fetches.Records()
		for _, r := range records {
			read = append(read, [2]int64{int64(r.Partition), r.Offset})
		}
		if len(read) > 0 {
			m.note("records", read)
			m.client.MarkCommitRecords(records...)
		}
	}
}

func (m *member) commit(ctx context.Context, c command) error {
	if c.Offsets == nil {
		if c.Wait {
			return m.client.CommitUncommittedOffsets(ctx)
		}
		go func() { _ = m.client.CommitUncommittedOffsets(context.Background()) }()
		return nil
	}
	offsets := map[int32]kgo.EpochOffset{}
	metadata := map[int32]string{}
	for text, fields := range c.Offsets {
		index, err := strconv.Atoi(text)
		if err != nil {
			return err
		}
		offsets[int32(index)] = kgo.EpochOffset{Epoch: -1, Offset: int64(fields[0].(float64))}
		metadata[int32(index)] = fields[1].(string)
	}
	ctx = kgo.PreCommitFnContext(ctx, func(request *kmsg.OffsetCommitRequest) error {
		for t := range request.Topics {
			for p := range request.Topics[t].Partitions {
				partition := &request.Topics[t].Partitions[p]
				partition.Metadata = kmsg.StringPtr(metadata[partition.Partition])
			}
		}
		return nil
	})
	wanted := map[string]map[int32]kgo.EpochOffset{m.topic: offsets}
	if !c.Wait {
		m.client.CommitOffsets(context.WithoutCancel(ctx), wanted, nil)
		return nil
	}
	var answered error
	m.client.CommitOffsetsSync(ctx, wanted,
		func(_ *kgo.Client, _ *kmsg.OffsetCommitRequest, response *kmsg.OffsetCommitResponse, err error) {
			answered = err
			if err == nil {
				for _, topic := range response.Topics {
					for _, partition := range topic.Partitions {
						answered = errors.Join(answered, kerr.ErrorForCode(partition.ErrorCode))
					}
				}
			}
		})
	return answered
}

func (m *member) close() {
	m.stop()
	<-m.done
	m.client.Close()
}
