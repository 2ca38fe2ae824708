package main

import (
	"context"
	"strconv"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// writer writes numbers to one partition on its own; tests/interop/stream_writer.py describes it.
type writer struct {
	client *kgo.Client
	stop   chan struct{}
	done   chan struct{}
	mutex  sync.Mutex
	fates  [][]any
}

// writerCommand runs the commands about writers; ok is false for any other.
func (a *agent) writerCommand(c command) (result any, ok bool, err error) {
	switch c.Do {
	case "start_writing":
		a.writers[c.Writer], err = startWriting(c)
	case "take_fates":
		result = a.writers[c.Writer].takeFates()
	case "stop_writing":
		w := a.writers[c.Writer]
		delete(a.writers, c.Writer)
		result, err = w.finish()
	default:
		return nil, false, nil
	}
	return result, true, err
}

func startWriting(c command) (*writer, error) {
	client, err := kgo.NewClient(
		kgo.SeedBrokers(seeds(c.Bootstrap)...),
		kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.ProducerLinger(0),
		kgo.ProducerBatchCompression(kgo.NoCompression()), // KafkaJS alone could not read the default, snappy
		kgo.RetryBackoffFn(func(int) time.Duration { return 200 * time.Millisecond }),
	)
	if err != nil {
		return nil, err
	}
	w := &writer{client: client, stop: make(chan struct{}), done: make(chan struct{}), fates: [][]any{}}
	go w.write(c)
	return w, nil
}

func (w *writer) write(c command) {
	defer close(w.done)
	pace := time.NewTicker(time.Duration(c.EveryMs) * time.Millisecond)
	defer pace.Stop()
	for number := 0; ; number++ {
		r := &kgo.Record{Topic: c.Topic, Partition: c.Partition, Value: []byte(strconv.Itoa(number))}
		w.client.Produce(context.Background(), r, func(r *kgo.Record, err error) {
			w.mutex.Lock()
			defer w.mutex.Unlock()
			if err == nil {
				w.fates = append(w.fates, []any{number, r.Offset, ""})
			} else {
				w.fates = append(w.fates, []any{number, -1, err.Error()})
			}
		})
		select {
		case <-w.stop:
			return
		case <-pace.C:
		}
	}
}

func (w *writer) takeFates() [][]any {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	taken := w.fates
	w.fates = [][]any{}
	return taken
}

func (w *writer) finish() ([][]any, error) {
	close(w.stop)
	<-w.done
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	err := w.client.Flush(ctx)
	w.client.Close()
	return w.takeFates(), err
}
