// SPDX-License-Identifier: Apache-2.0

package engine

// Refusal tells of something that a policy of a run has refused, without the content. It is the
// value of an [EventCustom].
type Refusal struct {
	// Policy is the name of the policy.
	Policy string `json:"policy"`
	// Stage is where it has refused. StagePrepare is a prompt or a run, StageModel a request or
	// its response, also if there is no room in a window or a limit, StageTool a call or its
	// result, and StageOutput an output, also if the model is asked for another one.
	Stage Stage `json:"stage"`
	// Tool and CallID identify the call in which that was, if any.
	Tool   string `json:"tool,omitempty"`
	CallID string `json:"call_id,omitempty"`
}
