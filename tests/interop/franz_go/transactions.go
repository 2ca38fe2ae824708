package main

import (
	"context"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// transactionCommand runs the commands about transactions, which ../transactor.py lists; ok is false for any other.
func (a *agent) transactionCommand(ctx context.Context, c command) (result any, ok bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, 60*time.Second)
	defer cancel()
	switch c.Do {
	case "txn_open":
		err = a.openTransactor(ctx, c)
	case "txn_begin":
		err = a.transactors[c.Transactor].BeginTransaction()
	case "txn_send":
		err = a.transactors[c.Transactor].ProduceSync(ctx, placed(c.Placed)...).FirstErr()
	case "txn_commit":
		err = a.transactors[c.Transactor].EndTransaction(ctx, kgo.TryCommit)
	case "txn_abort":
		client := a.transactors[c.Transactor]
		if err = client.AbortBufferedRecords(ctx); err == nil {
			err = client.EndTransaction(ctx, kgo.TryAbort)
		}
	case "txn_close":
		a.transactors[c.Transactor].Close()
		delete(a.transactors, c.Transactor)
	case "txn_copy":
		err = a.copyInTransactions(ctx, c)
	case "read_committed":
		result, err = a.readCommitted(ctx, c)
	default:
		return nil, false, nil
	}
	return result, true, err
}

func transactional(bootstrap string, c command) []kgo.Opt {
	return []kgo.Opt{
		kgo.SeedBrokers(seeds(bootstrap)...),
		kgo.TransactionalID(c.TransactionalID),
		kgo.TransactionTimeout(time.Duration(c.TimeoutMs) * time.Millisecond),
		kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.ProducerBatchCompression(kgo.NoCompression()), // KafkaJS alone could not read the default, snappy
		kgo.ProducerLinger(0),
	}
}

// openTransactor asks for a producer id at once, as other clients do; franz-go alone would wait for the first record.
func (a *agent) openTransactor(ctx context.Context, c command) error {
	client, err := kgo.NewClient(transactional(a.bootstrap, c)...)
	if err != nil {
		return err
	}
	a.transactors[c.Transactor] = client
	_, _, err = client.ProducerID(ctx)
	return err
}

func placed(records [][3]any) []*kgo.Record {
	made := make([]*kgo.Record, len(records))
	for i, r := range records {
		made[i] = &kgo.Record{Topic: r[0].(string), Partition: int32(r[1].(float64)), Value: []byte(r[2].(string))}
	}
	return made
}

// copyInTransactions reads so many records as a member of a group, and writes them elsewhere with the group's offsets.
func (a *agent) copyInTransactions(ctx context.Context, c command) error {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(c.PatienceMs)*time.Millisecond)
	defer cancel()
	options := append(transactional(a.bootstrap, c),
		kgo.ConsumerGroup(c.Group),
		kgo.ConsumeTopics(c.Source),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.FetchMaxWait(100*time.Millisecond),
		kgo.RequireStableFetchOffsets(),
	)
	session, err := kgo.NewGroupTransactSession(options...)
	if err != nil {
		return err
	}
	defer session.Close()
	for copied := 0; copied < c.Count; {
		fetches := session.PollFetches(ctx)
		if ctx.Err() != nil {
			return unfinished{copied}
		}
		if fetches.NumRecords() == 0 {
			continue
		}
		if err := session.Begin(); err != nil {
			return err
		}
		fetches.EachRecord(func(r *kgo.Record) {
			session.Produce(ctx, &kgo.Record{Topic: c.Target, Partition: r.Partition, Value: r.Value}, nil)
		})
		committed, err := session.End(ctx, kgo.TransactionEndTry(c.Commit))
		if err != nil {
			return err
		}
		if committed || !c.Commit {
			copied += fetches.NumRecords()
		}
	}
	return nil
}

func (a *agent) readCommitted(ctx context.Context, c command) (any, error) {
	partitions := map[int32]kgo.Offset{}
	for _, id := range c.PartitionIDs {
		partitions[id] = kgo.NewOffset().AtStart()
	}
	client, err := kgo.NewClient(
		kgo.SeedBrokers(seeds(a.bootstrap)...),
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{c.Topic: partitions}),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.FetchMaxWait(100*time.Millisecond),
	)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(ctx, time.Duration(c.PatienceMs)*time.Millisecond)
	defer cancel()
	found := [][2]any{}
	for len(found) < c.Count {
		fetches := client.PollFetches(ctx)
		if ctx.Err() != nil {
			return nil, unfinished{len(found)}
		}
		fetches.EachRecord(func(r *kgo.Record) { found = append(found, [2]any{r.Partition, string(r.Value)}) })
	}
	return found, nil
}
