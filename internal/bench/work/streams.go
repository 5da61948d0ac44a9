// SPDX-License-Identifier: Apache-2.0

//go:build unix

package work

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// What goes over HTTP: so many streams at a time, each of so many chunks, paced with that time between two of them.
const (
	HTTPStreams   = 500
	StreamChunks  = 200
	ChunkInterval = 20 * time.Millisecond
)

// StreamModel is the model that requests name, StreamKey the key that they send.
const (
	StreamModel = "gpt-5-mini"
	StreamKey   = "sk-not-a-real-key"
)

// HTTPStream asks a server for one streamed answer, and returns how many pieces of text reached the user, and the whole text. It is
// called from many goroutines at a time.
type HTTPStream func(ctx context.Context) (pieces int, text string, err error)

// HTTPClient makes what asks the server at baseURL, which speaks OpenAI's Chat Completions.
type HTTPClient func(client *http.Client, baseURL string) HTTPStream

// BenchmarkHTTPStreams measures the processor time that 500 streams at a time take in this process. The server is another process,
// so its time does not count. Each iteration runs the streams once with [BareStream] and once with each client, in an order that
// shifts; results are medians. TestMain must call [ServeStreams].
//
// Paced streams cost mostly the waking up for each chunk, which is the same for all. Unpaced ones show what reading a chunk costs.
func BenchmarkHTTPStreams(b *testing.B, clients map[string]HTTPClient) {
	server := startStreams(b)
	b.Run("Paced", func(b *testing.B) { benchmarkHTTPStreams(b, clients, server+pacedPath) })
	b.Run("Unpaced", func(b *testing.B) { benchmarkHTTPStreams(b, clients, server+unpacedPath) })
}

func benchmarkHTTPStreams(b *testing.B, clients map[string]HTTPClient, baseURL string) {
	transport := &http.Transport{MaxIdleConnsPerHost: HTTPStreams}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport}

	names := []string{"floor"}
	streams := map[string]HTTPStream{"floor": BareStream(client, baseURL)}
	for _, name := range slices.Sorted(maps.Keys(clients)) {
		names = append(names, name)
		streams[name] = clients[name](client, baseURL)
	}
	run := func(name string) float64 { return manyStreams(b, streams[name]).Seconds() }
	run("floor") // opens the connections

	spent, ratios := map[string][]float64{}, map[string][]float64{}
	round := 0
	for b.Loop() {
		now := map[string]float64{}
		for i := range names {
			name := names[(i+round)%len(names)]
			now[name] = run(name)
		}
		for _, name := range names {
			spent[name] = append(spent[name], now[name])
			ratios[name] = append(ratios[name], now[name]/now["floor"])
		}
		round++
	}
	for _, name := range names {
		b.ReportMetric(middle(spent[name])*1e6/(HTTPStreams*StreamChunks), name+"-cpu-µs/chunk")
		if name != "floor" {
			b.ReportMetric(middle(ratios[name]), name+"-x-floor")
		}
	}
	b.ReportMetric(0, "ns/op") // the pace is the server's
}

func middle(values []float64) float64 {
	values = slices.Sorted(slices.Values(values))
	n := len(values)
	return (values[(n-1)/2] + values[n/2]) / 2
}

// manyStreams runs all streams at a time and returns the processor time of the process, user and system.
func manyStreams(b *testing.B, stream HTTPStream) time.Duration {
	want := strings.Join(streamWords(), "")
	var running sync.WaitGroup
	errs := make(chan error, HTTPStreams)
	runtime.GC()
	before := processorTime()
	for range HTTPStreams {
		running.Go(func() {
			pieces, text, err := stream(context.Background())
			if err != nil || pieces != StreamChunks || text != want {
				errs <- fmt.Errorf("%d pieces, %d bytes, error %v", pieces, len(text), err)
			}
		})
	}
	running.Wait()
	spent := processorTime() - before
	close(errs)
	for err := range errs {
		b.Fatal(err)
	}
	return spent
}

func processorTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// BareStream is the floor: net/http, encoding/json, and the members that one needs.
func BareStream(client *http.Client, baseURL string) HTTPStream {
	return func(ctx context.Context) (int, string, error) { return bareStream(ctx, client, baseURL) }
}

func bareStream(ctx context.Context, client *http.Client, baseURL string) (pieces int, text string, err error) {
	type message struct {
		Role    string `json:"role,omitempty"`
		Content string `json:"content"`
	}
	body, err := json.Marshal(struct {
		Model    string    `json:"model"`
		Messages []message `json:"messages"`
		Stream   bool      `json:"stream"`
	}{StreamModel, []message{{"system", Instructions}, {"user", Prompt}}, true})
	if err != nil {
		return 0, "", err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, baseURL+"/chat/completions", bytes.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+StreamKey)
	resp, err := client.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	var whole strings.Builder
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		data, ok := bytes.CutPrefix(lines.Bytes(), []byte("data: "))
		if !ok || string(data) == "[DONE]" {
			continue
		}
		var chunk struct {
			ID      string `json:"id"`
			Model   string `json:"model"`
			Choices []struct {
				Index        int     `json:"index"`
				Delta        message `json:"delta"`
				FinishReason string  `json:"finish_reason"`
			} `json:"choices"`
			Usage *struct {
				PromptTokens     int `json:"prompt_tokens"`
				CompletionTokens int `json:"completion_tokens"`
			} `json:"usage"`
		}
		if err := json.Unmarshal(data, &chunk); err != nil {
			return 0, "", err
		}
		for _, c := range chunk.Choices {
			if c.Delta.Content != "" {
				pieces++
				whole.WriteString(c.Delta.Content)
			}
		}
	}
	return pieces, whole.String(), lines.Err()
}

// serverVariable makes a test binary a server of streams.
const serverVariable = "PONTE_BENCH_STREAMS"

// startStreams starts this test binary as a server, and returns its URL. The server ends with the benchmark.
func startStreams(b *testing.B) string {
	self, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), serverVariable+"=1")
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Wait()
	})
	address, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		b.Fatalf("the server does not say where it listens: %v", err)
	}
	return "http://" + strings.TrimSpace(address)
}

// ServeStreams makes the process a server of streams if [BenchmarkHTTPStreams] started it for that, and then does not return.
func ServeStreams() {
	if os.Getenv(serverVariable) == "" {
		return
	}
	listener := Must(listen())
	fmt.Println(listener.Addr())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	fmt.Fprintln(os.Stderr, http.Serve(listener, http.HandlerFunc(serveStream)))
	os.Exit(1)
}
