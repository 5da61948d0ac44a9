// SPDX-License-Identifier: Apache-2.0

// Webchat serves an agent to browsers, with its sessions in Postgres. Any number of them may serve the same sessions, on one machine or on
// several: a session is used by one of them at a time, and can be continued with any other.
//
//	webchat -database postgres://user@db.internal/app -addr 127.0.0.1:8080
//
// It is an example, short enough to copy. Its agent repeats what it is told: give it a model.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"time"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/agent/session/pgstore"
	"github.com/ponte-go/ponte/webbridge"
)

func main() {
	log.SetFlags(0)
	database := flag.String("database", "", "address of the database, such as postgres://user@host/name")
	addr := flag.String("addr", "127.0.0.1:0", "address to listen on")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := serve(ctx, *database, pgstore.Options{}, *addr, os.Getenv("WEBCHAT_TOKEN"), func(page string) { fmt.Println(page) }); err != nil {
		log.Fatal(err)
	}
}

// serve serves until ctx ends. It calls ready with the address of the page.
func serve(ctx context.Context, database string, o pgstore.Options, addr, token string, ready func(page string)) (err error) {
	store, err := pgstore.Open(ctx, database, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	if token == "" {
		token = webbridge.NewToken()
	}
	repeat := modeltest.Func(func(_ context.Context, req *model.Request) (*model.Message, error) {
		last := req.Messages[len(req.Messages)-1].Parts
		return model.Response(model.Text("You said: " + last[len(last)-1].Text)), nil
	})
	h, err := webbridge.New(webbridge.Config[struct{}, string]{
		Host:    host.Config[struct{}, string]{Agent: agent.Must(agent.New(agent.Config[struct{}, string]{Name: "webchat", Model: repeat})), Store: store},
		Options: webbridge.Options{Token: token, Title: "Webchat"},
	})
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	ready("http://" + listener.Addr().String() + "/?token=" + token)
	select {
	case err = <-failed:
	case <-ctx.Done():
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	return errors.Join(err, h.Shutdown(last), server.Shutdown(last))
}
