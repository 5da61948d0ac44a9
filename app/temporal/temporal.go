// SPDX-License-Identifier: Apache-2.0

// Package temporal has programs of package app run their turns on the workers of Temporal. Import
// it for that effect:
//
//	import _ "github.com/ponte-go/ponte/app/temporal"
//
// The flag -runner then accepts addresses such as temporal://localhost:7233/default, with the
// address of the server and a namespace. Each of them may be left out, as in temporal://: then the
// standard variables of Temporal say it, such as TEMPORAL_ADDRESS and TEMPORAL_NAMESPACE. Keys and
// certificates are in these variables, too: TEMPORAL_API_KEY, TEMPORAL_TLS and others. After a
// question mark there may be
//
//   - queue, the task queue, which is otherwise the name of the program;
//   - heartbeat, after how long without a sign of life a worker counts as lost, such as 5s.
//
// Commands such as "web" then show sessions and run turns. The command "worker", which such
// programs have, runs turns only. All programs with the same store need the same -runner.
package temporal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/envconfig"
	"go.temporal.io/sdk/log"

	"github.com/ponte-go/ponte/agent/engine/temporalengine"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/app"
)

func init() { app.RegisterRunner("temporal", open) }

// place is what an address says.
type place struct {
	server, namespace, queue string
	heartbeat                time.Duration
}

// dialling is how long the server may take to answer at first.
const dialling = 10 * time.Second

func open(
	ctx context.Context, e *app.Env, address string, store session.Store,
) (host.Runner, string, error) {
	p, err := parse(address)
	if err != nil {
		return nil, "", err
	}
	env := envconfig.LoadClientOptionsRequest{EnvLookup: lookup{e.Getenv}}
	o, err := envconfig.LoadClientOptions(env)
	if err != nil {
		return nil, "", err
	}
	o.HostPort = cmp.Or(p.server, o.HostPort, client.DefaultHostPort)
	o.Namespace = cmp.Or(p.namespace, o.Namespace, client.DefaultNamespace)
	o.Logger = log.NewStructuredLogger(e.Logger)
	bounded, cancel := context.WithTimeout(ctx, dialling)
	defer cancel()
	c, err := client.DialContext(bounded, o)
	if err != nil {
		return nil, "", fmt.Errorf("the server of Temporal at %s: %w", o.HostPort, err)
	}
	e.OnClose(func() error {
		c.Close()
		return nil
	})
	queue := cmp.Or(p.queue, e.Name)
	r, err := temporalengine.NewRunner(temporalengine.RunnerConfig{
		Client: c, TaskQueue: queue, Store: store, Name: queue + ".session", Heartbeat: p.heartbeat,
	})
	at := o.HostPort + ", namespace " + o.Namespace
	return r, "Temporal at " + at + ", task queue " + queue, err
}

var errAddress = errors.New("the form is temporal://HOST:PORT/NAMESPACE?queue=NAME&heartbeat=5s, " +
	"of which each part may be left out")

// parse reads an address.
func parse(address string) (p place, err error) {
	u, err := url.Parse(address)
	if err != nil || u.User != nil || strings.Count(u.Path, "/") > 1 {
		return p, errAddress
	}
	p.server, p.namespace = u.Host, strings.TrimPrefix(u.Path, "/")
	for name, values := range u.Query() {
		switch name {
		case "queue":
			p.queue = values[0]
		case "heartbeat":
			if p.heartbeat, err = time.ParseDuration(values[0]); err != nil || p.heartbeat <= 0 {
				return p, fmt.Errorf("heartbeat %q: use a positive duration, such as 5s", values[0])
			}
		default:
			return p, fmt.Errorf("%q is unknown: %w", name, errAddress)
		}
	}
	return p, nil
}

// lookup reads the variables of a program.
type lookup struct{ getenv func(string) string }

// Environ implements [envconfig.EnvLookup].
func (lookup) Environ() []string { return nil }

// LookupEnv implements [envconfig.EnvLookup].
func (l lookup) LookupEnv(name string) (string, bool) {
	value := l.getenv(name)
	return value, value != ""
}
