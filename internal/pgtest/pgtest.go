// SPDX-License-Identifier: Apache-2.0

// Package pgtest starts Postgres servers for tests.
package pgtest

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// RequireEnv is the variable that makes a missing Postgres a failure, with the value "require".
const RequireEnv = "PONTE_POSTGRES"

// ErrMissing means that Postgres is not installed.
var ErrMissing = errors.New("pgtest: Postgres is not installed, nor in PATH nor in /usr/lib/postgresql: install the package postgresql")

// Required reports whether a missing Postgres is a failure.
func Required() bool { return os.Getenv(RequireEnv) == "require" }

// Server is a server of this machine.
type Server struct {
	bin, dir, socket string
	port             int
	durable          bool
	process          *os.Process
	ended            <-chan struct{}
}

// Start creates a cluster in a new directory and starts its server. A server that is not durable
// does not sync, which is faster. The caller must close the server.
func Start(durable bool) (*Server, error) {
	bin, err := find()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "pgtest")
	if err != nil {
		return nil, err
	}
	s := &Server{bin: bin, dir: filepath.Join(dir, "data"), socket: dir, durable: durable}
	if s.port, err = freePort(); err == nil {
		err = os.Chmod(dir, 0o777) // Postgres does not run as root
	}
	if err == nil {
		err = s.run("initdb", "-D", s.dir, "-U", "test", "--auth=trust", "--no-sync", "-E", "UTF8", "--locale=C.UTF-8")
	}
	if err == nil {
		err = s.Up()
	}
	if err != nil {
		_ = os.RemoveAll(dir)
		return nil, err
	}
	return s, nil
}

// Standby makes a copy of the server that follows it, and starts it. The caller must close it.
func (s *Server) Standby() (*Server, error) {
	dir, err := os.MkdirTemp("", "pgtest")
	if err != nil {
		return nil, err
	}
	copied := &Server{bin: s.bin, dir: filepath.Join(dir, "data"), socket: dir, durable: s.durable}
	if copied.port, err = freePort(); err == nil {
		err = os.Chmod(dir, 0o777)
	}
	if err == nil {
		err = s.Client("pg_basebackup", "-D", copied.dir, "-R", "-c", "fast", "--no-sync", "-d", "application_name=standby")
	}
	if err == nil {
		err = copied.Up()
	}
	if err != nil {
		_ = os.RemoveAll(dir)
		return nil, err
	}
	return copied, nil
}

// Up starts the server, again after Kill.
func (s *Server) Up() error {
	args := []string{"-D", s.dir, "-k", s.socket, "-p", strconv.Itoa(s.port), "-c", "listen_addresses=127.0.0.1", "-c", "max_connections=200"}
	if !s.durable {
		args = append(args, "-F")
	}
	cmd := s.command("postgres", args...)
	log, err := os.OpenFile(filepath.Join(s.socket, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = cmd.Wait()
	}()
	s.process, s.ended = cmd.Process, ended
	for end := time.Now().Add(time.Minute); ; {
		err := s.run("pg_isready", "-q", "-h", "127.0.0.1", "-p", strconv.Itoa(s.port), "-d", "postgres")
		if err == nil {
			return nil
		}
		select {
		case <-ended:
		case <-time.After(20 * time.Millisecond):
			if time.Now().Before(end) {
				continue
			}
			_ = s.Kill()
		}
		text, _ := os.ReadFile(log.Name())
		return fmt.Errorf("pgtest: the server does not start: %s", text)
	}
}

// Kill ends the server and all of its processes with kill -9, as a machine that stops does.
func (s *Server) Kill() error {
	children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%[1]d/children", s.process.Pid))
	if err != nil {
		children, err = exec.Command("pgrep", "-P", strconv.Itoa(s.process.Pid)).Output()
	}
	if err == nil {
		err = s.process.Kill()
	}
	<-s.ended
	for _, child := range strings.Fields(string(children)) {
		pid, _ := strconv.Atoi(child)
		if p, err := os.FindProcess(pid); err == nil && pid > 0 {
			_ = p.Kill()
		}
	}
	return err
}

// Close ends the server and removes its files.
func (s *Server) Close() error {
	err := s.process.Signal(syscall.SIGQUIT) // at once
	<-s.ended
	if errors.Is(err, os.ErrProcessDone) {
		err = nil
	}
	return errors.Join(err, os.RemoveAll(s.socket))
}

// URL is the address of the server's database.
func (s *Server) URL() string { return address(s.port) }

func address(port int) string {
	u := url.URL{Scheme: "postgres", User: url.User("test"), Host: net.JoinHostPort("127.0.0.1", strconv.Itoa(port)), Path: "/postgres", RawQuery: "sslmode=disable"}
	return u.String()
}

// Client runs a program of Postgres, such as pg_dump, with the server's address in its environment. A relative path of a file is one in the server's
// directory.
func (s *Server) Client(name string, args ...string) error {
	cmd := s.command(name, args...)
	cmd.Env = append(os.Environ(), "PGHOST=127.0.0.1", "PGPORT="+strconv.Itoa(s.port), "PGUSER=test", "PGDATABASE=postgres")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("pgtest: %s: %w\n%s", name, err, out)
	}
	return nil
}

// run runs a program of Postgres.
func (s *Server) run(name string, args ...string) error {
	if out, err := s.command(name, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("pgtest: %s: %w\n%s", name, err, out)
	}
	return nil
}

// command is a program of Postgres, or another one with its whole path, run as another user if this
// is root.
func (s *Server) command(name string, args ...string) *exec.Cmd {
	if !filepath.IsAbs(name) {
		name = filepath.Join(s.bin, name)
	}
	args = append([]string{name}, args...)
	if os.Geteuid() == 0 {
		args = append([]string{"setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"}, args...)
	}
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir = s.socket
	return cmd
}

// find returns the directory of Postgres' programs.
func find() (string, error) {
	dirs, _ := filepath.Glob("/usr/lib/postgresql/*/bin")
	for i := len(dirs) - 1; i >= 0; i-- {
		if _, err := os.Stat(filepath.Join(dirs[i], "initdb")); err == nil {
			return dirs[i], nil
		}
	}
	if path, err := exec.LookPath("initdb"); err == nil {
		return filepath.Dir(path), nil
	}
	return "", ErrMissing
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}
