// SPDX-License-Identifier: Apache-2.0

package fleettest

import (
	"context"
	"errors"
	"math/rand/v2"
	"os/exec"
	"time"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/acpbridge/acpclient"
	"github.com/ponte-go/ponte/toolset"
)

// killable is an editor's agent.
type killable struct {
	*acpclient.Client
	cmd *exec.Cmd
}

func (k *killable) end() {
	_ = k.cmd.Process.Kill()
	_ = k.Client.Close()
	_ = k.cmd.Wait()
}

// agent starts the agent of an editor.
func (s *servers) agent(ctx context.Context) (*killable, error) {
	cmd := s.command(roleEditor)
	in, err1 := cmd.StdinPipe()
	out, err2 := cmd.StdoutPipe()
	if err := errors.Join(err1, err2, cmd.Start()); err != nil {
		return nil, err
	}
	client, err := acpclient.Connect(ctx, out, in, acpclient.Config{
		StartTimeout: patience, Permission: acpclient.AllowAll,
		Elicitation: func(context.Context, *acpclient.Elicitation) (acpclient.Answer, error) {
			return acpclient.Answer{Action: toolset.ActionAccept}, nil
		},
	})
	if err != nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		return nil, err
	}
	return &killable{client, cmd}, nil
}

// editor is an editor whose agent is killed in half of the turns. The turn is looked at on the page
// then, and the next one begins in the editor again.
func (p *people) editor(name string, turns int) (string, error) {
	var id acp.SessionID
	var c *killable
	var s *acpclient.Session
	defer func() {
		if c != nil {
			c.end()
		}
	}()
	open := func(ctx context.Context) (err error) {
		for end := time.Now().Add(patience); ; {
			if c == nil {
				c, err = p.agent(ctx)
			}
			if err == nil && id == "" {
				if s, err = c.NewSession(ctx, acpclient.SessionConfig{Cwd: p.dir}); err == nil {
					id = s.ID()
				}
			} else if err == nil {
				s, err = c.LoadSession(ctx, id, acpclient.SessionConfig{Cwd: p.dir})
			}
			if err == nil || time.Now().After(end) {
				return err
			}
			if c != nil {
				c.end()
				c = nil
			}
			time.Sleep(50 * time.Millisecond)
		}
	}
	for n := range turns {
		turn := nameOf(name, n)
		for there := false; !there; {
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			err := error(nil)
			if c == nil {
				err = open(ctx)
			}
			if err == nil {
				if rand.IntN(2) == 0 {
					p.kills.Add(1)
					kill := c.cmd.Process
					time.AfterFunc(time.Duration(rand.IntN(300))*time.Millisecond, func() { _ = kill.Kill() })
				}
				_, err = s.Say(ctx, turn)
			}
			cancel()
			if err != nil && c != nil {
				c.end()
				c = nil
			}
			if there, err = p.ended(string(id), turn); err != nil {
				return string(id), err
			}
		}
	}
	return string(id), nil
}
