// SPDX-License-Identifier: Apache-2.0

package pgtest

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// BouncerEnv is the variable that makes a missing PgBouncer a failure, with the value "require".
const BouncerEnv = "PONTE_PGBOUNCER"

// ErrNoBouncer means that PgBouncer is not installed.
var ErrNoBouncer = errors.New("pgtest: PgBouncer is not installed: install the package pgbouncer")

// BouncerRequired reports whether a missing PgBouncer is a failure.
func BouncerRequired() bool { return os.Getenv(BouncerEnv) == "require" }

// Bouncer is a PgBouncer in front of a server.
type Bouncer struct {
	dir     string
	port    int
	process *os.Process
	ended   chan struct{}
}

// Bounce starts a PgBouncer with a mode of pooling, such as "session", that has at most size connections to the server. The caller must close it.
func (s *Server) Bounce(mode string, size int) (*Bouncer, error) {
	path, err := exec.LookPath("pgbouncer")
	if err != nil {
		path = "/usr/sbin/pgbouncer"
		if _, err := os.Stat(path); err != nil {
			return nil, ErrNoBouncer
		}
	}
	b := &Bouncer{ended: make(chan struct{})}
	if b.dir, err = os.MkdirTemp("", "pgbouncer"); err != nil {
		return nil, err
	}
	if b.port, err = freePort(); err == nil {
		err = os.Chmod(b.dir, 0o777) // it does not run as root
	}
	config := filepath.Join(b.dir, "pgbouncer.ini")
	if err == nil {
		err = os.WriteFile(config, fmt.Appendf(nil, `[databases]
postgres = host=127.0.0.1 port=%d user=test
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = %d
unix_socket_dir =
auth_type = any
pool_mode = %s
default_pool_size = %d
max_client_conn = 500
logfile = %s
`, s.port, b.port, mode, size, filepath.Join(b.dir, "log")), 0o644)
	}
	if err == nil {
		cmd := s.command(path, config)
		cmd.Dir = b.dir
		if err = cmd.Start(); err == nil {
			b.process = cmd.Process
			go func() {
				defer close(b.ended)
				_ = cmd.Wait()
			}()
			err = b.up()
		}
	}
	if err != nil {
		return nil, errors.Join(err, b.Close())
	}
	return b, nil
}

// up waits until the port accepts connections.
func (b *Bouncer) up() error {
	for end := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		conn, err := net.Dial("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(b.port)))
		if err == nil {
			return conn.Close()
		}
		select {
		case <-b.ended:
			end = time.Time{}
		default:
		}
		if time.Now().After(end) {
			text, _ := os.ReadFile(filepath.Join(b.dir, "log"))
			return fmt.Errorf("pgtest: PgBouncer does not start: %w: %s", err, text)
		}
	}
}

// Close ends PgBouncer and removes its files.
func (b *Bouncer) Close() error {
	if b.process != nil {
		_ = b.process.Signal(syscall.SIGTERM) // at once
		<-b.ended
	}
	return os.RemoveAll(b.dir)
}

// URL is the address of the server's database by way of PgBouncer.
func (b *Bouncer) URL() string { return address(b.port) }
