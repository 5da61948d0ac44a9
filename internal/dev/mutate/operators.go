// SPDX-License-Identifier: Apache-2.0

package main

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strconv"
	"strings"
)

// boundary moves the bound of a comparison.
var boundary = map[token.Token]string{token.LSS: "<=", token.LEQ: "<", token.GTR: ">=", token.GEQ: ">"}

// negated reverses a comparison.
var negated = map[token.Token]string{
	token.EQL: "!=", token.NEQ: "==", token.LSS: ">=", token.LEQ: ">", token.GTR: "<=", token.GEQ: "<",
}

var logical = map[token.Token]string{token.LAND: "||", token.LOR: "&&"}

// arithmetic is for numbers only.
var arithmetic = map[token.Token]string{
	token.ADD: "-", token.SUB: "+", token.MUL: "/", token.QUO: "*", token.REM: "*",
	token.AND: "|", token.OR: "&", token.XOR: "&", token.AND_NOT: "&", token.SHL: ">>", token.SHR: "<<",
	token.ADD_ASSIGN: "-=", token.SUB_ASSIGN: "+=", token.MUL_ASSIGN: "/=", token.QUO_ASSIGN: "*=",
	token.AND_ASSIGN: "|=", token.OR_ASSIGN: "&=", token.AND_NOT_ASSIGN: "|=", token.SHL_ASSIGN: ">>=", token.SHR_ASSIGN: "<<=",
}

// mutator makes the mutants of one file.
type mutator struct {
	fset     *token.FileSet
	pkg      *pkg
	file     *file
	function string
	around   *ast.FuncDecl
	form     form
	results  *types.Tuple // of the function or closure around the node
	found    []*mutant
}

// mutate returns all mutants of a file.
func mutate(fset *token.FileSet, p *pkg, f *file) []*mutant {
	m := &mutator{fset: fset, pkg: p, file: f}
	for _, decl := range f.syntax.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			if d.Body == nil {
				continue
			}
			m.function, m.around, m.form = functionName(d), d, formOf(d, p.info)
			m.results = p.info.Defs[d.Name].Type().(*types.Signature).Results()
			m.walk(d.Body)
		case *ast.GenDecl:
			if d.Tok != token.VAR && d.Tok != token.CONST {
				continue
			}
			for _, spec := range d.Specs {
				values := spec.(*ast.ValueSpec)
				m.function, m.around, m.form = values.Names[0].Name, nil, unswitchable
				for _, v := range values.Values {
					m.walk(v)
				}
			}
		}
	}
	name(m.found)
	return m.found
}

func functionName(d *ast.FuncDecl) string {
	if d.Recv == nil || len(d.Recv.List) == 0 {
		return d.Name.Name
	}
	recv, pointer := d.Recv.List[0].Type, ""
	if star, ok := recv.(*ast.StarExpr); ok {
		recv, pointer = star.X, "*"
	}
	switch generic := recv.(type) {
	case *ast.IndexExpr:
		recv = generic.X
	case *ast.IndexListExpr:
		recv = generic.X
	}
	return "(" + pointer + recv.(*ast.Ident).Name + ")." + d.Name.Name
}

// walk applies the operators to a node and everything in it.
func (m *mutator) walk(root ast.Node) {
	ast.Inspect(root, func(node ast.Node) bool {
		switch n := node.(type) {
		case *ast.FuncLit:
			outer := m.results
			m.results = m.pkg.info.Types[n].Type.(*types.Signature).Results()
			m.walk(n.Body)
			m.results = outer
			return false
		case *ast.BinaryExpr:
			m.binary(n)
		case *ast.UnaryExpr:
			switch n.Op {
			case token.NOT:
				m.add("not", n.OpPos, n.X.Pos(), "")
			case token.SUB:
				m.add("arithmetic", n.OpPos, n.X.Pos(), "")
			}
		case *ast.Ident:
			if obj := m.pkg.info.Uses[n]; obj != nil && obj.Parent() == types.Universe {
				switch n.Name {
				case "true":
					m.add("bool", n.Pos(), n.End(), "false")
				case "false":
					m.add("bool", n.Pos(), n.End(), "true")
				}
			}
		case *ast.BasicLit:
			m.constant(n)
		case *ast.CallExpr:
			if m.isBuiltin(n.Fun, "make") && !m.is(n.Args[0], isChannel) {
				// A length matters. The capacity of a slice and the size hint of a map change
				// nothing.
				if len(n.Args) > 1 && m.is(n.Args[0], isSlice) {
					m.walk(n.Args[1])
				}
				return false
			}
		case *ast.IfStmt:
			m.condition(n.Cond)
		case *ast.ForStmt:
			m.condition(n.Cond)
		case *ast.BlockStmt:
			m.statements(n.List)
		case *ast.CaseClause:
			m.body(n.Body)
		case *ast.CommClause:
			m.body(n.Body)
		case *ast.AssignStmt:
			if to, ok := arithmetic[n.Tok]; ok && m.is(n.Lhs[0], isNumber) {
				m.add("arithmetic", n.TokPos, n.TokPos+token.Pos(len(n.Tok.String())), to)
			}
		case *ast.IncDecStmt:
			to := "--"
			if n.Tok == token.DEC {
				to = "++"
			}
			m.add("arithmetic", n.TokPos, n.TokPos+2, to)
		case *ast.ReturnStmt:
			m.returns(n)
		}
		return true
	})
}

func (m *mutator) binary(n *ast.BinaryExpr) {
	end := n.OpPos + token.Pos(len(n.Op.String()))
	if to, ok := boundary[n.Op]; ok {
		m.add("boundary", n.OpPos, end, to)
	}
	if to, ok := negated[n.Op]; ok {
		m.add("negate", n.OpPos, end, to)
	}
	if to, ok := logical[n.Op]; ok {
		m.add("logical", n.OpPos, end, to)
	}
	if to, ok := arithmetic[n.Op]; ok && m.is(n.X, isNumber) {
		m.add("arithmetic", n.OpPos, end, to)
	}
}

// condition negates what the operators for comparisons and for ! do not.
func (m *mutator) condition(cond ast.Expr) {
	switch n := ast.Unparen(cond).(type) {
	case nil, *ast.BinaryExpr:
		return
	case *ast.UnaryExpr:
		if n.Op == token.NOT {
			return
		}
	}
	m.add("negate", cond.Pos(), cond.End(), "!("+m.text(cond)+")")
}

func (m *mutator) constant(n *ast.BasicLit) {
	if n.Kind != token.INT {
		return
	}
	v, err := strconv.ParseInt(n.Value, 0, 64)
	if err != nil {
		return
	}
	m.add("constant", n.Pos(), n.End(), strconv.FormatInt(v+1, 10))
	if v > 0 {
		m.add("constant", n.Pos(), n.End(), strconv.FormatInt(v-1, 10))
	}
}

// body empties the body of a case.
func (m *mutator) body(body []ast.Stmt) {
	if len(body) == 0 {
		return
	}
	m.statements(body)
	first, last := body[0], body[len(body)-1]
	if len(body) > 1 || !removable(first) {
		nodes := make([]ast.Node, len(body))
		for i, s := range body {
			nodes[i] = s
		}
		m.add("case", first.Pos(), last.End(), m.keep(nodes...))
	}
}

// statements removes statements one by one.
func (m *mutator) statements(list []ast.Stmt) {
	for i, s := range list {
		if d, ok := s.(*ast.DeferStmt); ok {
			m.add("defer", d.Pos(), d.End(), m.keep(d))
			continue
		}
		if ret, ok := s.(*ast.ReturnStmt); ok && i == len(list)-1 && len(ret.Results) == 0 {
			m.add("statement", ret.Pos(), ret.End(), "")
		}
		if removable(s) {
			m.add("statement", s.Pos(), s.End(), m.keep(s))
		}
	}
}

func removable(s ast.Stmt) bool {
	switch s := s.(type) {
	case *ast.ExprStmt, *ast.SendStmt, *ast.GoStmt, *ast.IncDecStmt, *ast.BranchStmt:
		return true
	case *ast.AssignStmt:
		return s.Tok != token.DEFINE
	}
	return false
}

// returns replaces each result by its zero value.
func (m *mutator) returns(n *ast.ReturnStmt) {
	if m.results.Len() != len(n.Results) {
		return
	}
	for i, r := range n.Results {
		zero := m.zero(m.results.At(i).Type())
		if text := m.text(r); zero == "" || text == zero || text == "true" || m.isZero(r) {
			continue
		}
		text := m.text(n)
		from, to := r.Pos()-n.Pos(), r.End()-n.Pos()
		text = text[:from] + zero + text[to:]
		if keep := m.keep(r); keep != "" {
			text = keep + "; " + text
		}
		m.add("return", n.Pos(), n.End(), text)
	}
}

// zero returns an expression for the zero value of a type, or nothing if it would be long.
func (m *mutator) zero(t types.Type) string {
	switch u := t.Underlying().(type) {
	case *types.Basic:
		switch {
		case u.Info()&types.IsString != 0:
			return `""`
		case u.Info()&types.IsBoolean != 0:
			return "false"
		case u.Info()&types.IsNumeric != 0:
			return "0"
		}
	case *types.Pointer, *types.Slice, *types.Map, *types.Chan, *types.Signature:
		return "nil"
	case *types.Interface:
		if _, ok := types.Unalias(t).(*types.TypeParam); !ok {
			return "nil"
		}
	case *types.Struct:
		if _, ok := types.Unalias(t).(*types.Named); ok {
			return types.TypeString(t, func(p *types.Package) string {
				if p.Path() == m.pkg.path {
					return ""
				}
				return p.Name()
			}) + "{}"
		}
	}
	return ""
}

func (m *mutator) isZero(e ast.Expr) bool {
	if lit, ok := e.(*ast.CompositeLit); ok {
		_, isStruct := m.pkg.info.Types[e].Type.Underlying().(*types.Struct)
		return isStruct && len(lit.Elts) == 0
	}
	v := m.pkg.info.Types[e].Value
	return v != nil && slices.Contains([]string{"0", `""`, "false"}, v.ExactString())
}

// keep returns a statement that uses the local variables and the imports which a node uses, which
// lets the file compile without the node.
func (m *mutator) keep(nodes ...ast.Node) string {
	var used []string
	use := func(text string) {
		if !slices.Contains(used, text) {
			used = append(used, text)
		}
	}
	from, to := nodes[0].Pos(), nodes[len(nodes)-1].End()
	for _, node := range nodes {
		ast.Inspect(node, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.SelectorExpr:
				x, ok := n.X.(*ast.Ident)
				if !ok {
					return true
				}
				if _, ok := m.pkg.info.Uses[x].(*types.PkgName); !ok {
					return true
				}
				switch obj := m.pkg.info.Uses[n.Sel].(type) {
				case *types.TypeName:
					use("*new(" + m.text(n) + ")")
				case *types.Func:
					if obj.Type().(*types.Signature).TypeParams().Len() == 0 {
						use(m.text(n))
					}
				default:
					use(m.text(n))
				}
				return false
			case *ast.Ident:
				v, ok := m.pkg.info.Uses[n].(*types.Var)
				if ok && !v.IsField() && v.Parent() != v.Pkg().Scope() && (v.Pos() < from || v.Pos() >= to) {
					use(n.Name)
				}
			}
			return true
		})
	}
	if len(used) == 0 {
		return ""
	}
	return strings.Repeat("_, ", len(used)-1) + "_ = " + strings.Join(used, ", ")
}

// add notes a mutant, unless it changes nothing.
func (m *mutator) add(operator string, from, to token.Pos, text string) {
	start, end := m.fset.Position(from).Offset, m.fset.Position(to).Offset
	if string(m.file.src[start:end]) == text {
		return
	}
	m.found = append(m.found, &mutant{
		pkg: m.pkg, file: m.file, function: m.function, around: m.around, form: m.form,
		operator: operator, start: start, end: end, text: text,
	})
}

func (m *mutator) text(n ast.Node) string {
	return string(m.file.src[m.fset.Position(n.Pos()).Offset:m.fset.Position(n.End()).Offset])
}

func (m *mutator) is(e ast.Expr, kind func(types.Type) bool) bool {
	return kind(m.pkg.info.TypeOf(e).Underlying())
}

func isNumber(t types.Type) bool {
	b, ok := t.(*types.Basic)
	return ok && b.Info()&types.IsNumeric != 0
}

func isChannel(t types.Type) bool {
	_, ok := t.(*types.Chan)
	return ok
}

func isSlice(t types.Type) bool {
	_, ok := t.(*types.Slice)
	return ok
}

func (m *mutator) isBuiltin(e ast.Expr, name string) bool {
	id, ok := e.(*ast.Ident)
	if !ok || id.Name != name {
		return false
	}
	_, ok = m.pkg.info.Uses[id].(*types.Builtin)
	return ok
}
