package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"os"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/oauth"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"
)

// login is how a client proves who it is; ../secured/clients.py describes it.
type login struct {
	Bootstrap string  `json:"bootstrap"`
	Mechanism string  `json:"mechanism"`
	Username  string  `json:"username"`
	Password  string  `json:"password"`
	CA        *string `json:"ca"`
}

func (l login) sasl() sasl.Mechanism {
	switch l.Mechanism {
	case "PLAIN":
		return plain.Auth{User: l.Username, Pass: l.Password}.AsMechanism()
	case "SCRAM-SHA-256":
		return scram.Auth{User: l.Username, Pass: l.Password}.AsSha256Mechanism()
	case "SCRAM-SHA-512":
		return scram.Auth{User: l.Username, Pass: l.Password}.AsSha512Mechanism()
	default:
		return oauth.Auth{Token: l.Password}.AsMechanism()
	}
}

// secured writes values and reads them back, and answers with what it read.
func secured(ctx context.Context, c command) (any, error) {
	options := []kgo.Opt{
		kgo.SeedBrokers(seeds(c.Login.Bootstrap)...),
		kgo.SASL(c.Login.sasl()),
		kgo.AllowAutoTopicCreation(),
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{c.Topic: {0: kgo.NewOffset().AtStart()}}),
	}
	if c.Login.CA != nil {
		authority, err := os.ReadFile(*c.Login.CA)
		if err != nil {
			return nil, err
		}
		pool := x509.NewCertPool()
		if !pool.AppendCertsFromPEM(authority) {
			return nil, errors.New("no certificate in " + *c.Login.CA)
		}
		options = append(options, kgo.DialTLSConfig(&tls.Config{RootCAs: pool}))
	}
	client, err := kgo.NewClient(options...)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	for _, value := range c.Values {
		if err := client.ProduceSync(ctx, &kgo.Record{Topic: c.Topic, Value: []byte(value)}).FirstErr(); err != nil {
			return nil, err
		}
	}
	got := []string{}
	for len(got) < len(c.Values) {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err0(); err != nil {
			return nil, err
		}
		fetches.EachRecord(func(r *kgo.Record) { got = append(got, string(r.Value)) })
	}
	return got, nil
}
