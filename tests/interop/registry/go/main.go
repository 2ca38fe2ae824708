// franz-go with its registry client (pkg/sr) and hamba/avro: `write` and `read` records, and `look` at what a
// registry says.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/hamba/avro/v2"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sr"
)

const schemaText = `{"type":"record","name":"Event","namespace":"interop","fields":[` +
	`{"name":"name","type":"string"},{"name":"count","type":"int"}]}`
const wider = `{"type":"record","name":"Event","namespace":"interop","fields":[` +
	`{"name":"name","type":"string"},{"name":"count","type":"int"},{"name":"more","type":"int"}]}`

type event struct {
	Name  string `avro:"name"`
	Count int    `avro:"count"`
}

type program struct {
	bootstrap []string
	registry  *sr.Client
	topic     string
}

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	registry, err := sr.NewClient(sr.URLs(strings.Split(os.Args[2], ",")...))
	must(err)
	p := &program{strings.Split(os.Args[1], ","), registry, os.Args[4]}
	var answer any
	switch os.Args[3] {
	case "write":
		answer = p.write(ctx, number(os.Args[5]))
	case "read":
		answer = p.read(ctx, number(os.Args[5]))
	case "look":
		answer = p.look(ctx)
	}
	text, err := json.Marshal(answer)
	must(err)
	fmt.Println(string(text))
}

func (p *program) serde(id int) *sr.Serde {
	schema := avro.MustParse(schemaText)
	var serde sr.Serde
	serde.Register(id, event{},
		sr.EncodeFn(func(v any) ([]byte, error) { return avro.Marshal(schema, v) }),
		sr.DecodeFn(func(b []byte, v any) error { return avro.Unmarshal(schema, b, v) }))
	return &serde
}

func (p *program) write(ctx context.Context, count int) any {
	created, err := p.registry.CreateSchema(ctx, p.topic+"-value", sr.Schema{Schema: schemaText, Type: sr.TypeAvro})
	must(err)
	serde := p.serde(created.ID)
	client, err := kgo.NewClient(kgo.SeedBrokers(p.bootstrap...))
	must(err)
	defer client.Close()
	for i := 0; i < count; i++ {
		value := serde.MustEncode(event{"franz-go", i})
		must(client.ProduceSync(ctx, &kgo.Record{Topic: p.topic, Value: value}).FirstErr())
	}
	return map[string]int{"id": created.ID}
}

func (p *program) read(ctx context.Context, count int) any {
	client, err := kgo.NewClient(kgo.SeedBrokers(p.bootstrap...), kgo.ConsumeTopics(p.topic),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	must(err)
	defer client.Close()
	found := [][]any{}
	for len(found) < count {
		fetches := client.PollFetches(ctx)
		must(fetches.Err())
		fetches.EachRecord(func(record *kgo.Record) {
			var header sr.ConfluentHeader
			id, data, err := header.DecodeID(record.Value)
			must(err)
			written, err := p.registry.SchemaByID(ctx, id)
			must(err)
			schema, err := avro.Parse(written.Schema)
			must(err)
			var one event
			must(avro.Unmarshal(schema, data, &one))
			found = append(found, []any{one.Name, one.Count})
		})
	}
	return found
}

func (p *program) look(ctx context.Context) any {
	subject := p.topic + "-value"
	schema := sr.Schema{Schema: schemaText, Type: sr.TypeAvro}
	created, err := p.registry.CreateSchema(ctx, subject, schema)
	must(err)
	latest, err := p.registry.SchemaByVersion(ctx, subject, -1)
	must(err)
	looked, err := p.registry.LookupSchema(ctx, subject, schema)
	must(err)
	subjects, err := p.registry.Subjects(ctx)
	must(err)
	types, err := p.registry.SupportedTypes(ctx)
	must(err)
	_, incompatible := p.registry.CreateSchema(ctx, subject, sr.Schema{Schema: wider, Type: sr.TypeAvro})
	check, err := p.registry.CheckCompatibility(sr.WithParams(ctx, sr.Verbose), subject, -1, sr.Schema{Schema: wider, Type: sr.TypeAvro})
	must(err)
	set := p.registry.SetCompatibility(ctx, sr.SetCompatibility{Level: sr.CompatNone}, subject)
	must(set[0].Err)
	widened, err := p.registry.CreateSchema(ctx, subject, sr.Schema{Schema: wider, Type: sr.TypeAvro})
	must(err)
	used, err := p.registry.SchemaUsagesByID(ctx, widened.ID)
	must(err)
	_, unknown := p.registry.SchemaByID(ctx, 987654)
	must(p.registry.DeleteSchema(ctx, subject, widened.Version, sr.SoftDelete))
	must(p.registry.DeleteSchema(ctx, subject, widened.Version, sr.HardDelete))
	versions, err := p.registry.SubjectVersions(ctx, subject)
	must(err)
	return map[string]any{
		"id": created.ID, "latest": latest.ID, "of_schema": looked.ID, "subjects": subjects, "types": fmt.Sprint(types),
		"incompatible": code(incompatible), "compatible": check.Is, "messages": check.Messages,
		"widened": widened.Version, "used": used[0].Subject, "unknown_id": code(unknown), "versions": versions,
	}
}

func code(err error) int {
	var refused *sr.ResponseError
	if errors.As(err, &refused) {
		return refused.ErrorCode
	}
	return 0
}

func number(text string) int {
	value, err := strconv.Atoi(text)
	must(err)
	return value
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
