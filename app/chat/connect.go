// SPDX-License-Identifier: Apache-2.0

package chat

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/acpbridge/acpclient"
	"github.com/ponte-go/ponte/app/internal/out"
	"github.com/ponte-go/ponte/app/internal/term/text"
	"github.com/ponte-go/ponte/internal/show"
)

// connect starts the agent and opens a session. If the agent wants a login, the person chooses how.
func connect(
	ctx context.Context, config *Config, base acpclient.Config, note func(string),
) (*acpclient.Client, *acpclient.Session, error) {
	in, _ := config.In.(*os.File)
	base.Name, base.Version = config.Program, config.Version
	if config.Said != nil {
		config.Said(note)
	}
	base.TerminalLogin = config.Person && in != nil
	base.OnStderr = func(line string) {
		if config.Verbose || config.Heed != nil && config.Heed(line) {
			note("agent: " + line)
		}
	}
	for {
		client, err := start(ctx, config, base)
		if err != nil {
			return nil, nil, err
		}
		for {
			session, err := begin(ctx, config, client)
			if err == nil {
				return client, session, nil
			}
			if !errors.Is(err, acp.ErrAuthRequired) || !config.Person || len(client.AuthMethods()) == 0 {
				_ = client.Close()
				return nil, nil, err
			}
			again, err := logIn(ctx, config, client, in)
			if err != nil {
				_ = client.Close()
				return nil, nil, err
			}
			if again { // the protocol has it that the agent is started again
				_ = client.Close()
				break
			}
		}
	}
}

// start starts the agent, or connects to it.
func start(ctx context.Context, config *Config, base acpclient.Config) (*acpclient.Client, error) {
	if config.Connect != nil {
		return config.Connect(ctx, base)
	}
	return acpclient.Start(ctx, config.Agent, base)
}

// begin opens the session that the conversation begins in.
func begin(ctx context.Context, config *Config, client *acpclient.Client) (*acpclient.Session, error) {
	of := acpclient.SessionConfig{Cwd: config.Dir}
	id := acp.SessionID(config.Resume)
	if config.Continue {
		for info, err := range client.Sessions(ctx, config.Dir) {
			if err != nil {
				return nil, err
			}
			id = info.SessionID
			break // the last one comes first
		}
		if id == "" {
			return nil, fmt.Errorf("there is no session to continue in %s", show.Line(config.Dir))
		}
	}
	if id != "" {
		return client.LoadSession(ctx, id, of)
	}
	return client.NewSession(ctx, of)
}

// logIn has the person choose one of the agent's methods. again means that the agent must be
// restarted.
func logIn(ctx context.Context, config *Config, client *acpclient.Client, in *os.File) (again bool, err error) {
	methods := client.AuthMethods()
	fmt.Fprintln(config.Out, "The agent wants you to log in:")
	for i := range methods {
		name, about := method(&methods[i])
		fmt.Fprintf(config.Out, "  %d  %s\n", i+1, show.Line(name))
		if about != "" {
			fmt.Fprintf(config.Out, "     %s\n", text.OneLine(about))
		}
	}
	fmt.Fprintf(config.Out, "Number of the method to use, or nothing to quit: ")
	line, err := readLine(ctx, config)
	if err != nil {
		return false, err
	}
	n, err := strconv.Atoi(line)
	if err != nil || n < 1 || n > len(methods) {
		return false, errors.New("not logged in")
	}
	m := &methods[n-1]
	switch {
	case m.Agent != nil:
		fmt.Fprintln(config.Out, "Waiting for the agent; it may open a browser.")
		return false, client.Authenticate(ctx, m.Agent.ID)
	case m.Terminal != nil && config.LogIn != nil:
		return false, config.LogIn(ctx)
	case m.Terminal != nil && in != nil:
		return true, client.Login(ctx, m.Terminal.ID, acpclient.Terminal{
			In: in, Out: out.File(config.Out), Err: out.File(config.Err),
		})
	}
	return false, errors.New("this client does not know how to log in that way")
}

func method(m *acp.AuthMethod) (name, about string) {
	text := func(s *string) string {
		if s == nil {
			return ""
		}
		return *s
	}
	switch {
	case m.Agent != nil:
		return m.Agent.Name, text(m.Agent.Description)
	case m.Terminal != nil:
		return m.Terminal.Name, text(m.Terminal.Description)
	}
	return "unknown", ""
}

// readLine reads a line and not a byte more, because the rest of the input belongs to another
// reader.
func readLine(ctx context.Context, config *Config) (string, error) {
	type result struct {
		line string
		err  error
	}
	done := make(chan result, 1)
	go func() {
		var line []byte
		for one := make([]byte, 1); ; {
			n, err := config.In.Read(one)
			if n == 1 && one[0] != '\n' && len(line) < 1000 {
				line = append(line, one[0])
				continue
			}
			if n == 1 && one[0] == '\n' {
				err = nil
			}
			if n == 1 || err != nil {
				if err == io.EOF {
					err = nil
				}
				done <- result{strings.TrimSpace(string(line)), err}
				return
			}
		}
	}()
	select {
	case r := <-done:
		return r.line, r.err
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}

// waiting shows on a terminal that something is in progress, until it is stopped. The line does not
// wrap: the next one could not take its place.
func waiting(out io.Writer, what string) (stop func()) {
	end, ended := make(chan struct{}), make(chan struct{})
	begin := time.Now()
	go func() {
		defer close(ended)
		tick := time.NewTicker(100 * time.Millisecond)
		defer tick.Stop()
		for i := 0; ; i++ {
			select {
			case <-tick.C:
				if i >= 2 { // what is over at once is not worth a line
					fmt.Fprintf(
						out, "\r\x1b[?7l\x1b[K%c %ds %s\x1b[?7h", []rune("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏")[i%10],
						int(time.Since(begin).Seconds()), what,
					)
				}
			case <-end:
				fmt.Fprint(out, "\r\x1b[K")
				return
			}
		}
	}()
	return func() {
		close(end)
		<-ended
	}
}
