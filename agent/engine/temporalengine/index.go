// SPDX-License-Identifier: Apache-2.0

package temporalengine

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"strings"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

// The search attributes of runs: how many answers a run waits for, its agent, and its user.
var (
	waitingKey = temporal.NewSearchAttributeKeyInt64("PonteWaiting")
	agentKey   = temporal.NewSearchAttributeKeyKeyword("PonteAgent")
	userKey    = temporal.NewSearchAttributeKeyKeyword("PonteUser")
)

// Index has runs indexed by Temporal's server, so that [Client.Waiting] finds those that wait
// without asking a worker. The namespace must know the attributes: call [AddSearchAttributes]
// once. Search attributes are never encrypted by a codec.
type Index struct {
	// hash is what the server sees of a user. Nil means the id.
	hash func(user string) string
}

// HashedIndex is an [Index] whose server sees a keyed hash (HMAC-SHA-256) of users instead of their
// ids. Clients that share runs need the same key.
func HashedIndex(key []byte) *Index {
	key = bytes.Clone(key)
	return &Index{func(user string) string {
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte(user))
		return hex.EncodeToString(mac.Sum(nil))
	}}
}

// user returns what the server sees of a user.
func (i *Index) user(id string) string {
	if i.hash == nil || id == "" {
		return id
	}
	return i.hash(id)
}

// Attributes are the attributes of a run that begins, for whoever starts its workflow without
// [Client.Start]: a schedule, or a workflow that calls [RunAgent]. agent is the [Config].Name.
func (i *Index) Attributes(agent, user string) temporal.SearchAttributes {
	all := []temporal.SearchAttributeUpdate{waitingKey.ValueSet(0), agentKey.ValueSet(agent)}
	if user != "" {
		all = append(all, userKey.ValueSet(i.user(user)))
	}
	return temporal.NewSearchAttributes(all...)
}

// AddSearchAttributes makes the attributes that [Index] needs known to a namespace of the server.
// It does nothing if they are.
func AddSearchAttributes(ctx context.Context, c client.Client, namespace string) error {
	_, err := c.OperatorService().AddSearchAttributes(ctx, &operatorservice.AddSearchAttributesRequest{
		Namespace: namespace, SearchAttributes: map[string]enumspb.IndexedValueType{
			waitingKey.GetName(): waitingKey.GetValueType(),
			agentKey.GetName():   agentKey.GetValueType(),
			userKey.GetName():    userKey.GetValueType(),
		},
	})
	if err != nil && !errors.As(err, new(*serviceerror.AlreadyExists)) {
		return fmt.Errorf("temporalengine: add search attributes: %w", ofContext(ctx, err))
	}
	return nil
}

// index tells the server for how many answers a run waits, until ctx ends. The attributes of a
// workflow that is continued as a new one are those of the old one.
func (s *state) index(ctx workflow.Context) {
	attributes := workflow.GetTypedSearchAttributes(ctx)
	known, indexed := attributes.GetInt64(waitingKey)
	if !indexed {
		return
	}
	workflow.Go(ctx, func(ctx workflow.Context) {
		for workflow.Await(ctx, func() bool { return s.waits() != known }) == nil {
			known = s.waits()
			if workflow.UpsertTypedSearchAttributes(ctx, waitingKey.ValueSet(known)) != nil {
				return
			}
		}
	})
}

// waits is the number of answers that the run waits for.
func (s *state) waits() int64 {
	n := len(s.unanswered())
	for _, q := range s.questions {
		if q.reply == nil {
			n++
		}
	}
	return int64(n)
}

var errNoIndex = errors.New("temporalengine: set ClientOptions.Index: runs are not indexed")

// Waiting is a run that waits for answers.
type Waiting struct {
	// ID is the id of the run: see [Client.Run].
	ID string
	// User is the user of the run, or its hash: see [HashedIndex].
	User string
	// Answers is how many calls and questions wait.
	Answers int
}

// Waiting returns the runs that wait for answers, of one user or, if user is empty, of all. The
// server has them in an index, so no worker is asked: [Run.State] says what a run waits for. A
// run appears there within about a second. Questions of calls that are workflows of their own
// ([Activity].Child) do not count; approvals do. The error, if there is one, is the last element.
func (c *Client[O]) Waiting(ctx context.Context, user string) iter.Seq2[Waiting, error] {
	return func(yield func(Waiting, error) bool) {
		if c.options.Index == nil {
			yield(Waiting{}, errNoIndex)
			return
		}
		query := fmt.Sprintf("%s > 0 AND %s = %s AND ExecutionStatus = 'Running'",
			waitingKey.GetName(), agentKey.GetName(), quoted(c.options.Name))
		if user != "" {
			seen := quoted(c.options.Index.user(user))
			query += fmt.Sprintf(" AND %s = %s", userKey.GetName(), seen)
		}
		request := &workflowservice.ListWorkflowExecutionsRequest{Query: query, PageSize: 1000}
		for more := true; more; more = len(request.NextPageToken) > 0 {
			page, err := c.client.ListWorkflow(ctx, request)
			if err != nil {
				err = fmt.Errorf("temporalengine: list waiting runs: %w", ofContext(ctx, err))
				yield(Waiting{}, err)
				return
			}
			request.NextPageToken = page.NextPageToken
			for _, w := range page.Executions {
				if !yield(waitingOf(w), nil) {
					return
				}
			}
		}
	}
}

// quoted returns a text as a query has it.
func quoted(text string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, "'", `\'`).Replace(text) + "'"
}

func waitingOf(w *workflowpb.WorkflowExecutionInfo) Waiting {
	made := Waiting{ID: w.Execution.WorkflowId}
	fields := w.SearchAttributes.GetIndexedFields()
	var n int64
	plain := converter.GetDefaultDataConverter()
	if plain.FromPayload(fields[waitingKey.GetName()], &n) == nil {
		made.Answers = int(n)
	}
	if p := fields[userKey.GetName()]; p != nil {
		_ = plain.FromPayload(p, &made.User)
	}
	return made
}
