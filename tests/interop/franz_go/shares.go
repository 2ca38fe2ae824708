package main

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

var acknowledgements = map[string]kgo.AckStatus{
	"accept": kgo.AckAccept, "release": kgo.AckRelease, "reject": kgo.AckReject, "renew": kgo.AckRenew,
}

type where struct {
	topic     string
	partition int32
	offset    int64
}

// shareMember takes and acknowledges as it is told, or works by itself; ../shares/member.py describes it.
type shareMember struct {
	client  *kgo.Client
	held    map[where]*kgo.Record
	stop    context.CancelFunc
	done    chan struct{}
	mutex   sync.Mutex
	notes   [][]any
	answers kgo.ShareAckResults
}

// shareCommand runs the commands about members of share groups; ok is false for any other.
func (a *agent) shareCommand(ctx context.Context, c command) (result any, ok bool, err error) {
	m := a.shareMembers[c.Member]
	switch c.Do {
	case "join_share":
		a.shareMembers[c.Member], err = joinShare(c)
	case "take":
		result, err = m.take(ctx, time.Duration(c.PatienceMs)*time.Millisecond)
	case "settle":
		for _, place := range c.Places {
			at := where{place[0].(string), int32(place[1].(float64)), int64(place[2].(float64))}
			m.held[at].Ack(acknowledgements[c.Kind])
		}
	case "flush":
		result, err = m.flush(ctx)
	case "work":
		working, cancel := context.WithCancel(context.Background())
		m.stop, m.done = cancel, make(chan struct{})
		go m.work(working)
	case "take_share_notes":
		result = m.takeNotes()
	case "leave_share":
		delete(a.shareMembers, c.Member)
		m.leave()
		result = m.takeNotes()
	default:
		return nil, false, nil
	}
	return result, true, err
}

// joinShare opens a member that fetches only while it is polled: nothing waits in it unseen.
func joinShare(c command) (*shareMember, error) {
	m := &shareMember{held: map[where]*kgo.Record{}, notes: [][]any{}}
	options := []kgo.Opt{
		kgo.SeedBrokers(seeds(c.Bootstrap)...),
		kgo.ClientID("franz-go"),
		kgo.ShareGroup(c.Group),
		kgo.ConsumeTopics(c.Topics...),
		kgo.ShareMaxRecords(c.MaxRecords),
		kgo.MaxConcurrentFetches(0),
		kgo.FetchMaxWait(100 * time.Millisecond),
		kgo.RetryBackoffFn(func(int) time.Duration { return 200 * time.Millisecond }),
		kgo.ShareAckCallback(m.answered),
	}
	if c.Exact {
		options = append(options, kgo.ShareMaxRecordsStrict())
	}
	client, err := kgo.NewClient(options...)
	m.client = client
	return m, err
}

func (m *shareMember) answered(_ *kgo.Client, results kgo.ShareAckResults) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	m.answers = append(m.answers, results...)
}

func (m *shareMember) takeAnswers() kgo.ShareAckResults {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	taken := m.answers
	m.answers = nil
	return taken
}

func (m *shareMember) note(kind string, what any) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	m.notes = append(m.notes, []any{time.Now().UnixMilli(), kind, what})
}

func (m *shareMember) takeNotes() [][]any {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	taken := m.notes
	m.notes = [][]any{}
	return taken
}

func (m *shareMember) poll(ctx context.Context, patience time.Duration) []*kgo.Record {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	fetches := m.client.PollFetches(ctx)
	for _, failed := range fetches.Errors() {
		if !errors.Is(failed.Err, context.DeadlineExceeded) && !errors.Is(failed.Err, context.Canceled) {
			m.note("failed", []any{codeOf(failed.Err), failed.Err.Error()})
		}
	}
	return fetches.Records()
}

// take gives the records of the first poll that has any.
func (m *shareMember) take(ctx context.Context, patience time.Duration) ([][]any, error) {
	taken := [][]any{}
	deadline := time.Now().Add(patience)
	for len(taken) == 0 && time.Now().Before(deadline) {
		for _, r := range m.poll(ctx, time.Until(deadline)) {
			m.held[where{r.Topic, r.Partition, r.Offset}] = r
			headers := [][2]any{}
			for _, header := range r.Headers {
				headers = append(headers, [2]any{header.Key, header.Value})
			}
			taken = append(taken, []any{r.Topic, r.Partition, r.Offset, r.DeliveryCount(), r.Key, r.Value, headers})
		}
	}
	return taken, nil
}

func (m *shareMember) flush(ctx context.Context) ([][3]any, error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	answers := [][3]any{}
	err := m.client.FlushAcks(ctx)
	for _, result := range m.takeAnswers() {
		answers = append(answers, [3]any{result.Topic, result.Partition, codeOf(result.Err)})
	}
	return answers, err
}

// work accepts whatever comes. The answers name partitions only, so a failed one leaves all of it unsettled.
func (m *shareMember) work(ctx context.Context) {
	defer close(m.done)
	for ctx.Err() == nil {
		records := m.poll(ctx, time.Second)
		if len(records) == 0 {
			continue
		}
		taken := [][4]any{}
		settled := map[bool][][3]any{}
		for _, r := range records {
			taken = append(taken, [4]any{r.Topic, r.Partition, r.Offset, r.DeliveryCount()})
		}
		m.note("taken", taken)
		m.client.MarkAcks(kgo.AckAccept, records...)
		flushing, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		err := m.client.FlushAcks(flushing)
		cancel()
		failed := map[[2]any]error{}
		for _, result := range m.takeAnswers() {
			if result.Err != nil {
				failed[[2]any{result.Topic, result.Partition}] = result.Err
				m.note("failed", []any{codeOf(result.Err), result.Err.Error()})
			}
		}
		for _, r := range records {
			ok := err == nil && failed[[2]any{r.Topic, r.Partition}] == nil
			settled[ok] = append(settled[ok], [3]any{r.Topic, r.Partition, r.Offset})
		}
		for ok, kind := range map[bool]string{true: "settled", false: "unsettled"} {
			if len(settled[ok]) > 0 {
				m.note(kind, settled[ok])
			}
		}
	}
}

func (m *shareMember) leave() {
	if m.stop != nil {
		m.stop()
		<-m.done
	}
	m.client.Close()
}

func codeOf(err error) int16 {
	var refused *kerr.Error
	switch {
	case err == nil:
		return 0
	case errors.As(err, &refused):
		return refused.Code
	default:
		return -1
	}
}
