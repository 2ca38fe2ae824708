package main

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

var codecs = map[string]kgo.CompressionCodec{
	"none":   kgo.NoCompression(),
	"gzip":   kgo.GzipCompression(),
	"snappy": kgo.SnappyCompression(),
	"lz4":    kgo.Lz4Compression(),
	"zstd":   kgo.ZstdCompression(),
}

var acks = map[int]kgo.Acks{0: kgo.NoAck(), 1: kgo.LeaderAck(), -1: kgo.AllISRAcks()}

// record travels as a JSON array; encoding/json makes base64 of bytes and null of nil.
type record struct{ kgo.Record }

func (r *record) UnmarshalJSON(text []byte) error {
	var headers [][2]json.RawMessage
	var timestamp *int64
	fields := []any{&r.Key, &r.Value, &headers, &timestamp, &r.Partition}
	if err := json.Unmarshal(text, &fields); err != nil {
		return err
	}
	if timestamp != nil {
		r.Timestamp = time.UnixMilli(*timestamp)
	}
	for _, header := range headers {
		var h kgo.RecordHeader
		if err := errors.Join(json.Unmarshal(header[0], &h.Key), json.Unmarshal(header[1], &h.Value)); err != nil {
			return err
		}
		r.Headers = append(r.Headers, h)
	}
	return nil
}

func fields(r *kgo.Record) []any {
	headers := [][2]any{}
	for _, header := range r.Headers {
		headers = append(headers, [2]any{header.Key, header.Value})
	}
	appendTime := r.Attrs.TimestampType() == 1
	return []any{r.Key, r.Value, headers, r.Timestamp.UnixMilli(), r.Partition, r.Offset, appendTime}
}

func (a *agent) produce(ctx context.Context, c command) (any, error) {
	options := []kgo.Opt{
		kgo.SeedBrokers(seeds(a.bootstrap)...),
		kgo.ProducerBatchCompression(codecs[c.Codec]),
		kgo.RequiredAcks(acks[c.Acks]),
		kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.AllowAutoTopicCreation(),
		kgo.ProducerBatchMaxBytes(8_000_000),
		kgo.ProducerLinger(5 * time.Millisecond),
	}
	if !c.Idempotent {
		options = append(options, kgo.DisableIdempotentWrite())
	}
	if c.SmallBatches {
		options = append(options, kgo.ProducerBatchMaxBytes(1<<10), kgo.ProducerLinger(0))
	}
	client, err := kgo.NewClient(options...)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	records := make([]*kgo.Record, len(c.Records))
	for i := range c.Records {
		records[i] = &c.Records[i].Record
		records[i].Topic = c.Topic
	}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	if err := client.ProduceSync(ctx, records...).FirstErr(); err != nil {
		return nil, err
	}
	offsets := make([]int64, len(records))
	for i, r := range records {
		offsets[i] = r.Offset
	}
	return offsets, nil
}

func (a *agent) consume(ctx context.Context, c command) (any, error) {
	from := kgo.NewOffset().At(c.Start)
	partitions := map[int32]kgo.Offset{}
	for _, id := range c.PartitionIDs {
		partitions[id] = from
	}
	client, err := kgo.NewClient(
		kgo.SeedBrokers(seeds(a.bootstrap)...),
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{c.Topic: partitions}),
		kgo.ConsumeResetOffset(kgo.NoResetOffset()),
		kgo.FetchMaxWait(500*time.Millisecond),
	)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(ctx, time.Duration(c.PatienceMs)*time.Millisecond)
	defer cancel()
	records := [][]any{}
	for len(records) < c.Count {
		fetches := client.PollFetches(ctx)
		if ctx.Err() != nil {
			return nil, unfinished{len(records)}
		}
		for _, failed := range fetches.Errors() {
			if !errors.Is(failed.Err, kerr.UnknownTopicOrPartition) {
				return nil, failed.Err
			}
		}
		fetches.EachRecord(func(r *kgo.Record) {
			if len(records) < c.Count {
				records = append(records, fields(r))
			}
		})
	}
	return records, nil
}
