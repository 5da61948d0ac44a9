// SPDX-License-Identifier: Apache-2.0

//go:build unix

package mcptoolset_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/toolset/mcptoolset"
)

func init() { child = serveAsChild }

// serveAsChild is what a copy of this test program does.
func serveAsChild(mode string) int {
	if strings.Contains(mode, ":") {
		return bannerServer(mode)
	}
	switch mode {
	case "crash":
		fmt.Fprintln(os.Stderr, "cannot open the database, key sk-secret-123\u202e")
		return 3
	case "painted":
		fmt.Fprint(os.Stderr, "\x1b[31mred\x1b[0m key sk-sec")
		time.Sleep(20 * time.Millisecond) // two reads, as a rule; the result is the same
		fmt.Fprint(os.Stderr, "ret-123\r\n\n"+strings.Repeat("x", 20_000)+"\nwithout an end\x07")
		return 3
	case "hang":
		select {}
	case "deaf":
		time.Sleep(time.Hour)
	case "flood":
		w := bufio.NewWriterSize(os.Stdout, 1<<20)
		fmt.Fprint(w, `{"jsonrpc":"2.0","id":1,"result":{"x":"`)
		for chunk := strings.Repeat("x", 1<<20); ; {
			if _, err := w.WriteString(chunk); err != nil {
				return 1
			}
		}
	case "huge", "deep":
		return rawServer(mode)
	case "owner":
		s := mcptoolset.Must(mcptoolset.New(mcptoolset.Config{Name: "s", Transport: command("stubborn")}))
		res, err := callIn(context.Background(), s, nil, "r", "s_pid", `{}`)
		fmt.Println(res.Text, err)
		select {}
	case "stubborn":
		signal.Ignore(syscall.SIGTERM, syscall.SIGHUP)
		defer func() { select {} }() // also when its input ends
	}
	server := newFake(nil)
	server.tool("echo", echo)
	server.tool("pid", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return say(fmt.Sprint(os.Getpid())), nil
	})
	server.tool("env", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return say(strings.Join(os.Environ(), "\n")), nil
	})
	server.tool("die", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		fmt.Fprintln(os.Stderr, "out of luck")
		os.Exit(7)
		return nil, nil
	})
	server.tool("fork", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		c := exec.Command("sleep", "600") // holds the server's output open
		c.Stdout = os.Stdout
		if err := c.Start(); err != nil {
			return nil, err
		}
		return say(fmt.Sprint(c.Process.Pid)), nil
	})
	if err := server.Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		return 1
	}
	return 0
}

// command starts a copy of this test program.
func command(mode string) mcptoolset.Command {
	return mcptoolset.Command{Path: os.Args[0], Env: []string{"MCPTOOLSET_TEST_MODE=" + mode, "TOKEN=sk-secret-123", "GORACE=atexit_sleep_ms=0"}, Grace: 100 * time.Millisecond}
}

func start(t testing.TB, mode string, change ...func(*mcptoolset.Config)) *mcptoolset.Server {
	t.Helper()
	config := mcptoolset.Config{Name: "s", Transport: command(mode)}
	for _, c := range change {
		c(&config)
	}
	s, err := mcptoolset.New(config)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

// alive reports whether a process exists and is not only waiting to be buried.
func alive(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return !os.IsNotExist(err)
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(rest, "Z")
}

// rawServer writes messages that the SDK's server would not, byte by byte.
func rawServer(mode string) int {
	in, out := bufio.NewScanner(os.Stdin), bufio.NewWriterSize(os.Stdout, 1<<20)
	for in.Scan() {
		var m struct {
			ID     json.RawMessage
			Method string
		}
		if json.Unmarshal(in.Bytes(), &m) != nil || m.ID == nil {
			continue
		}
		fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,`, m.ID)
		switch m.Method {
		case "initialize":
			fmt.Fprint(out, `"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"raw","version":"1"}}`)
		case "tools/list":
			schema := `{"type":"object"}`
			if mode == "deep" {
				schema = strings.Repeat(`{"type":"object","properties":{"p":`, 10_000) + `{}` + strings.Repeat(`}}`, 10_000)
			}
			fmt.Fprintf(out, `"result":{"tools":[{"name":"get","inputSchema":%s}]}`, schema)
		case "tools/call":
			fmt.Fprint(out, `"result":{"content":[{"type":"text","text":"`)
			chunk := strings.Repeat("x", 1<<20)
			for range 100 {
				_, _ = out.WriteString(chunk)
			}
			fmt.Fprint(out, `"}]}`)
		default:
			fmt.Fprint(out, `"error":{"code":-32601,"message":"no such method"}`)
		}
		fmt.Fprintln(out, "}")
		if out.Flush() != nil {
			return 1
		}
	}
	return 0
}
