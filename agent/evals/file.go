// SPDX-License-Identifier: Apache-2.0

package evals

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/strictjson"
)

// FileOptions are options for reading a dataset file. The zero value knows the standard evaluators.
type FileOptions struct {
	// Evaluators make evaluators of the application, by the name that files have for them. They get
	// the arguments as JSON: an object of named arguments, or one value. nil means none.
	Evaluators map[string]func(args json.RawMessage) (Evaluator, error)
	// Judge is the model of judges that name none. Open opens those that are named, such as
	// "openai:gpt-5"; without it, a judge that names a model is an error.
	Judge model.Model
	Open  func(name string) (model.Model, error)
}

// ReadFile reads a dataset from a file, as JSON if it is that, and otherwise as YAML. It has the
// form of the dataset files of pydantic-evals, with its standard evaluators:
//
//	# yaml-language-server: $schema=./moods_schema.json
//	name: moods
//	cases:
//	- name: praise
//	  inputs: I love it.
//	  expected_output: {mood: good}
//	evaluators:
//	- EqualsExpected
//	- MaxDuration: 5
//	- LLMJudge: {rubric: The mood fits the text., include_input: true}
//
// A case may have metadata, more evaluators, and files, which pydantic-evals does not know.
// Inputs and outputs are decoded as JSON is into In and Out; unknown members are errors.
// [WriteSchema] makes the schema for editors.
func ReadFile[In, Out any](file string, o FileOptions) (Dataset[In, Out], error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return Dataset[In, Out]{}, fmt.Errorf("evals: %w", err)
	}
	d, err := Parse[In, Out](data, o)
	if err != nil {
		return d, fmt.Errorf("%w, in %s", err, file)
	}
	return d, nil
}

// Parse reads a dataset like [ReadFile].
func Parse[In, Out any](data []byte, o FileOptions) (Dataset[In, Out], error) {
	var d Dataset[In, Out]
	var err error
	text := data
	if json.Valid(data) {
		_, err = strictjson.Parse(data)
	} else {
		text, err = fromYAML(data)
	}
	if err != nil {
		return d, fmt.Errorf("evals: the dataset cannot be read: %w", err)
	}
	var f fileForm
	if err := strictly(text, &f); err != nil {
		return d, fmt.Errorf("evals: the dataset: %w", err)
	}
	d.Name = f.Name
	names := map[string]int{}
	if d.Evaluators, err = o.evaluators(f.Evaluators, names); err != nil {
		return d, fmt.Errorf("evals: the dataset: %w", err)
	}
	if len(f.ReportEvaluators) > 0 {
		return d, errors.New("evals: the dataset has report_evaluators, which are not known " +
			"here: Report.Metrics and Report.Agreement tell what they do")
	}
	for i := range f.Cases {
		c, err := caseOf[In, Out](&f.Cases[i], o, names)
		if err != nil {
			return d, fmt.Errorf("evals: case %d of the dataset: %w", i+1, err)
		}
		d.Cases = append(d.Cases, c)
	}
	return d, nil
}

// fromYAML returns what YAML says as JSON.
func fromYAML(data []byte) ([]byte, error) {
	var tree any
	var node, more yaml.Node
	documents := yaml.NewDecoder(bytes.NewReader(data))
	err := documents.Decode(&node)
	if err == nil && documents.Decode(&more) != io.EOF {
		err = errors.New("there is more than one document")
	}
	if err == nil {
		err = asJSON(&node)
	}
	if err == nil {
		err = node.Decode(&tree)
	}
	if err != nil && err != io.EOF { // which an empty file has
		return nil, err
	}
	return json.Marshal(tree)
}

// asJSON changes what YAML would read in another way than JSON: dates and keys are the texts that
// the file has. A number that would lose its value is an error.
func asJSON(n *yaml.Node) error {
	for i, child := range n.Content {
		switch tag := child.ShortTag(); {
		case child.Kind != yaml.ScalarNode || tag == "!!merge":
		case n.Kind == yaml.MappingNode && i%2 == 0, tag == "!!timestamp":
			child.Tag = "!!str"
		case tag == "!!float" && (strings.ContainsAny(child.Value, "nN") ||
			len(child.Value) > 18 && strings.Trim(child.Value, "+-_0123456789") == ""):
			const text = "line %d: %s cannot be kept as a number: put it in quotes to have a text"
			return fmt.Errorf(text, child.Line, child.Value)
		}
		if err := asJSON(child); err != nil {
			return err
		}
	}
	return nil
}

// fileForm is the form of a dataset in files.
type fileForm struct {
	Schema           string            `json:"$schema"`
	Name             string            `json:"name"`
	Cases            []fileCase        `json:"cases"`
	Evaluators       []json.RawMessage `json:"evaluators"`
	ReportEvaluators []json.RawMessage `json:"report_evaluators"`
}

type fileCase struct {
	Name       string            `json:"name"`
	Inputs     json.RawMessage   `json:"inputs"`
	Metadata   json.RawMessage   `json:"metadata"`
	Expected   json.RawMessage   `json:"expected_output"`
	Files      map[string]string `json:"files"`
	Evaluators []json.RawMessage `json:"evaluators"`
}

// strictly decodes JSON. Unknown members are errors.
func strictly(data []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	decoder.UseNumber()
	return decoder.Decode(into)
}

func caseOf[In, Out any](f *fileCase, o FileOptions, names map[string]int) (Case[In, Out], error) {
	c := Case[In, Out]{Name: f.Name, Files: f.Files}
	if f.Inputs == nil {
		return c, errors.New("there are no inputs")
	}
	if err := strictly(f.Inputs, &c.Input); err != nil {
		return c, fmt.Errorf("inputs: %w", err)
	}
	if c.Unlabeled = isNull(f.Expected); !c.Unlabeled {
		if err := strictly(f.Expected, &c.Expected); err != nil {
			return c, fmt.Errorf("expected_output: %w", err)
		}
	}
	if !isNull(f.Metadata) {
		if err := json.Unmarshal(f.Metadata, &c.Metadata); err != nil { // it may be any value
			c.Metadata = map[string]any{"metadata": json.RawMessage(f.Metadata)}
		}
	}
	own := make(map[string]int, len(names))
	for name, n := range names {
		own[name] = n
	}
	var err error
	c.Evaluators, err = o.evaluators(f.Evaluators, own)
	return c, err
}

func isNull(data json.RawMessage) bool { return len(data) == 0 || string(data) == "null" }

// evaluators makes evaluators of their specifications. names counts those that there are: the
// second of a name is called NAME_2, as in pydantic-evals.
func (o FileOptions) evaluators(specs []json.RawMessage, names map[string]int) ([]Evaluator,
	error) {
	var all []Evaluator
	for i, spec := range specs {
		name, args, err := specOf(spec)
		if err != nil {
			return nil, fmt.Errorf("evaluator %d: %w", i+1, err)
		}
		made, err := o.evaluator(name, args)
		if err != nil {
			return nil, fmt.Errorf("evaluator %d, %s: %w", i+1, name, err)
		}
		for _, e := range made {
			names[e.name]++
			if n := names[e.name]; n > 1 {
				e.name = fmt.Sprintf("%s_%d", e.name, n)
			}
			all = append(all, e)
		}
	}
	return all, nil
}

// specOf reads a name, or an object with a name and arguments.
func specOf(spec json.RawMessage) (name string, args json.RawMessage, err error) {
	if json.Unmarshal(spec, &name) == nil {
		return name, nil, nil
	}
	var object map[string]json.RawMessage
	if json.Unmarshal(spec, &object) != nil || len(object) != 1 {
		return "", nil, fmt.Errorf("%s is neither a name nor an object with one name", spec)
	}
	for name, args = range object {
	}
	return name, args, nil
}

// evaluator makes the evaluators of a specification.
func (o FileOptions) evaluator(name string, args json.RawMessage) ([]Evaluator, error) {
	if own := o.Evaluators[name]; own != nil {
		e, err := own(args)
		return []Evaluator{e}, err
	}
	standard, ok := standardEvaluators[name]
	if !ok {
		return nil, errors.New("there is no such evaluator: name it in FileOptions.Evaluators")
	}
	args, err := named(args, standard.first)
	if err != nil {
		return nil, err
	}
	var common struct {
		Name string `json:"evaluation_name"`
	}
	if err := json.Unmarshal(args, &common); err != nil {
		return nil, err
	}
	all, err := standard.make(o, args)
	for i := range all {
		if standard.named {
			continue
		}
		if all[i].name = name; common.Name != "" {
			all[i].name = common.Name
		}
	}
	return all, err
}

// named returns arguments by name. One value that is not an object with known names is the first
// argument.
func named(args json.RawMessage, first string) (json.RawMessage, error) {
	switch {
	case args == nil:
		return json.RawMessage("{}"), nil
	case bytes.HasPrefix(bytes.TrimSpace(args), []byte("{")):
		return args, nil
	case first == "":
		return nil, fmt.Errorf("it takes no argument %s", args)
	}
	return json.Marshal(map[string]json.RawMessage{first: args})
}

// badArgument makes an error of a value that an argument cannot have.
func badArgument(name string, value any, allowed ...string) error {
	return fmt.Errorf("%s is %v, must be %s", name, value, strings.Join(allowed, " or "))
}
