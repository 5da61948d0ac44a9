// SPDX-License-Identifier: Apache-2.0

package fleettest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// servers are two processes that share requests, and are killed now and then.
type servers struct {
	t     *testing.T
	role  string
	dir   string
	spec  string
	next  atomic.Int64
	kills atomic.Int64
	whole atomic.Int64 // turns or chats that were answered

	mu    sync.Mutex
	cmds  [2]*exec.Cmd
	addrs [2]string
}

func (s *servers) marks() string { return filepath.Join(s.dir, "marks") }

// command is a process with a role.
func (s *servers) command(role string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(),
		env+"="+role+"|"+s.marks()+"|"+s.spec, "GORACE=atexit_sleep_ms=0")
	cmd.Stderr = os.Stderr
	return cmd
}

func (s *servers) start(i int) {
	cmd := s.command(s.role)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	line := ""
	if err == nil {
		line, err = bufio.NewReader(out).ReadString('\n')
	}
	if err != nil {
		s.t.Errorf("a server does not start: %v", err)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cmds[i], s.addrs[i] = cmd, strings.TrimSpace(line)
}

func (s *servers) kill(i int) {
	s.kills.Add(1)
	_ = s.cmds[i].Process.Kill()
	_ = s.cmds[i].Wait()
}

// while kills servers in turn until work has ended, each after a time between least and twice that.
// In a third of the times, disturb is called instead, if there is one. The times double while
// nothing has ended between two kills: a busy machine would do nothing else than to start servers.
func (s *servers) while(least time.Duration, disturb func(), work func()) {
	s.start(0)
	s.start(1)
	s.t.Cleanup(s.stop) // also of a test that fails
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		i, pause, whole := 0, least, s.whole.Load()
		for {
			select {
			case <-stop:
				return
			case <-time.After(pause + rand.N(pause)):
			}
			if disturb != nil && rand.IntN(3) == 0 {
				disturb()
				continue
			}
			s.kill(i)
			s.start(i)
			i, pause = 1-i, 2*pause
			if now := s.whole.Load(); now > whole {
				pause, whole = least, now
			}
		}
	}()
	work()
	close(stop)
	<-stopped
}

// stop kills the servers that run.
func (s *servers) stop() {
	for _, cmd := range s.cmds {
		if cmd != nil && cmd.Process != nil {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
	}
}

// end ends the servers. It returns the marks, each of which was made under one key.
func (s *servers) end() map[string]map[string]bool {
	s.stop()
	http.DefaultClient.CloseIdleConnections()
	marks, err := readMarks(s.marks())
	require.NoError(s.t, err)
	for what, keys := range marks {
		require.Len(s.t, keys, 1, "%s was marked under several keys", what)
	}
	return marks
}

// open sends a request to the next server. A server that is not there is passed over, as load
// balancers do.
func (s *servers) open(ctx context.Context, method, path string, body any) (*http.Response, error) {
	data, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	for try := 0; ; try++ {
		s.mu.Lock()
		addr := s.addrs[s.next.Add(1)%2]
		s.mu.Unlock()
		url := "http://" + addr + path
		req, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(data))
		if err != nil {
			return nil, err
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Authorization", "Bearer "+token)
		res, err := http.DefaultClient.Do(req)
		if err == nil || try > 0 && method != "GET" || try > 3 {
			return res, err
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// call sends a request. The status is 0 if the server was killed meanwhile.
func (s *servers) call(method, path string, body any) (status int, answer []byte) {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	res, err := s.open(ctx, method, path, body)
	if err != nil {
		return 0, nil
	}
	defer res.Body.Close()
	if answer, err = io.ReadAll(res.Body); err != nil {
		return 0, nil
	}
	return res.StatusCode, answer
}
