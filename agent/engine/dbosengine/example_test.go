// SPDX-License-Identifier: Apache-2.0

package dbosengine_test

import (
	"context"
	"fmt"
	"log"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/dbos-inc/dbos-transact-golang/dbos"
	_ "github.com/dbos-inc/dbos-transact-golang/dbos/driver/sqlite"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/engine/dbosengine"
	"github.com/ponte-go/ponte/agent/model/modeltest"
)

// A workflow asks an agent, and goes on with what it says.
func ExampleRun() {
	writer := agent.Must(agent.New(agent.Config[struct{}, string]{
		Name: "writer", Model: modeltest.Script(modeltest.SayText("Rain is wet.")),
	}))
	report := func(ctx dbos.Context, topic string) (string, error) {
		res, err := dbosengine.Run(ctx, writer, struct{}{}, "Write about "+topic+".")
		if err != nil {
			return "", err
		}
		publish := func(context.Context) (string, error) { return "published: " + res.Output, nil }
		return dbos.RunAsStep(ctx, publish, dbos.WithStepName("publish"))
	}
	dir, err := os.MkdirTemp("", "reports")
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	c, err := dbos.NewContext(context.Background(), dbos.Config{
		AppName: "reports", DatabaseURL: "sqlite:" + filepath.Join(dir, "reports.db"), Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		log.Fatal(err)
	}
	dbos.RegisterWorkflow(c, report)
	if err := dbos.Launch(c); err != nil {
		log.Fatal(err)
	}
	h, err := dbos.RunWorkflow(c, report, "rain")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(h.GetResult())
	if err := dbos.Shutdown(c, 10*time.Second); err != nil {
		log.Fatal(err)
	}
	// Output:
	// published: Rain is wet. <nil>
}
