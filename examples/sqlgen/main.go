// SPDX-License-Identifier: Apache-2.0

// Command sqlgen writes a SQL query that has been checked, or says why it cannot. Without -model the answers are scripted: the
// first query is wrong, so the database's complaint goes back to the model.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"strings"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	_ "github.com/ponte-go/ponte/agent/model/openaimodel"
	"github.com/ponte-go/ponte/toolset"
)

const schema = "CREATE TABLE logs (at timestamp, level text, message text, service text)"

// Answer is a Query or a Refusal.
type Answer interface{ answer() }

// Query is a query that the database accepts.
type Query struct {
	SQL  string `json:"sql" validate:"required,startswith=SELECT"`
	Note string `json:"note,omitempty" jsonschema:"description=What the query does"`
}

// Refusal names what is missing in a request.
type Refusal struct {
	Why string `json:"why" validate:"required"`
}

func (Query) answer()   {}
func (Refusal) answer() {}

var writer = agent.Must(agent.New(agent.Config[*DB, Answer]{
	Instructions: "Write a SQL query for what the user wants to see of this table:\n" + schema,
	Alternatives: []agent.Alternative[*DB, Answer]{
		agent.As[*DB]("query", "A query.", func(q Query) Answer { return q }),
		agent.As[*DB]("refusal", "There is no such query.", func(r Refusal) Answer { return r }),
	},
	Validators: []agent.Validator[*DB, Answer]{explained},
}))

func explained(ctx context.Context, run *toolset.RunContext[*DB], answer Answer) (Answer, error) {
	if q, ok := answer.(Query); ok {
		if err := run.Deps.Explain(ctx, q.SQL); err != nil {
			return nil, toolset.Retry("The database refuses the query: %v", err)
		}
	}
	return answer, nil
}

// DB replaces a database.
type DB struct{}

// Explain fails for a query that the database cannot plan.
func (*DB) Explain(_ context.Context, sql string) error {
	for _, column := range []string{"severity", "time"} {
		if strings.Contains(sql, column) {
			return fmt.Errorf("column %q does not exist", column)
		}
	}
	return nil
}

var name = flag.String("model", "", "provider:name of a model")

func main() {
	flag.Parse()
	ctx := context.Background()
	var m model.Model = modeltest.Script(
		modeltest.Say(model.ToolCall("1", "query", `{"sql":"SELECT * FROM logs WHERE severity = 'error'"}`)),
		modeltest.Say(model.ToolCall("2", "query", `{"sql":"SELECT * FROM logs WHERE level = 'error'"}`)),
	)
	if *name != "" {
		var err error
		if m, err = model.Open(ctx, *name); err != nil {
			log.Fatal(err)
		}
	}
	res, err := writer.Run(ctx, new(DB), "Show me the errors.", agent.WithModel(m))
	if err != nil {
		log.Fatal(err)
	}
	switch answer := res.Output.(type) {
	case Query:
		fmt.Println(answer.SQL)
	case Refusal:
		fmt.Println("no query:", answer.Why)
	}
}
