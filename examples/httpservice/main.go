// SPDX-License-Identifier: Apache-2.0

// Command httpservice serves an agent over HTTP: a prompt in, text out as it is written, and the conversation kept in memory.
// Try it with
//
//	curl -N -d 'Hello!' 'localhost:8080/chat?conversation=1'
//
// Without -model it answers with what it was told.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log"
	"net/http"
	"sync"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	_ "github.com/ponte-go/ponte/agent/model/openaimodel"
)

var chatter = agent.Must(agent.New(agent.Config[any, string]{Instructions: "Be brief."}))

// Server keeps conversations.
type Server struct {
	model model.Model
	mu    sync.Mutex
	talks map[string]*talk
}

type talk struct {
	mu       sync.Mutex // held by the request that is being answered
	messages []*model.Message
}

func (s *Server) talk(id string) *talk {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.talks[id] == nil {
		s.talks[id] = new(talk)
	}
	return s.talks[id]
}

// ServeHTTP answers the prompt in the body.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	prompt, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
	if err != nil || len(prompt) == 0 {
		http.Error(w, "the body must be a prompt of at most 1 MiB", http.StatusBadRequest)
		return
	}
	talk := s.talk(r.FormValue("conversation"))
	talk.mu.Lock()
	defer talk.mu.Unlock()
	stream := chatter.Stream(r.Context(), nil, string(prompt), agent.WithModel(s.model), agent.WithHistory(talk.messages))
	for event := range stream.Events() {
		if event.Kind == agent.EventPartDelta && event.PartKind == model.PartText {
			fmt.Fprint(w, event.Text)
			http.NewResponseController(w).Flush()
		}
	}
	res, err := stream.Result()
	if err != nil {
		log.Print(err)
		fmt.Fprintln(w, "\nSorry, that did not work.")
		return
	}
	talk.messages = res.Messages
}

// echo repeats the last message.
func echo(_ context.Context, req *model.Request) (*model.Message, error) {
	last := req.Messages[len(req.Messages)-1].Parts[0].Text
	return model.Response(model.Text(fmt.Sprintf("Message %d is: %s", len(req.Messages)/2+1, last))), nil
}

func newServer(ctx context.Context, name string) (*Server, error) {
	s := &Server{model: modeltest.Func(echo), talks: map[string]*talk{}}
	if name == "" {
		return s, nil
	}
	var err error
	s.model, err = model.Open(ctx, name)
	return s, err
}

func main() {
	name := flag.String("model", "", "provider:name of a model")
	address := flag.String("address", "localhost:8080", "address to listen on")
	flag.Parse()
	s, err := newServer(context.Background(), *name)
	if err != nil {
		log.Fatal(err)
	}
	http.Handle("POST /chat", s)
	log.Fatal(http.ListenAndServe(*address, nil))
}
