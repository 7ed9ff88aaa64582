package main

import (
	"cmp"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/karpenter-go/karpenter/internal/telemetry"
)

// providerMetrics returns the metrics that the source below dir declares, sorted by name. If dir does not exist, it
// returns none.
func providerMetrics(dir string) ([]telemetry.Declaration, error) {
	var list []telemetry.Declaration
	set := token.NewFileSet()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return fmt.Errorf("parse: %w", err)
		}
		found, err := declarations(set, file)
		list = append(list, found...)
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read metrics of providers: %w", err)
	}
	slices.SortFunc(list, func(a, b telemetry.Declaration) int { return cmp.Compare(a.Name, b.Name) })
	return list, nil
}

// declarations returns the metrics that one file declares.
func declarations(set *token.FileSet, file *ast.File) ([]telemetry.Declaration, error) {
	var list []telemetry.Declaration
	var errs []error
	ast.Inspect(file, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		kind, ok := metricKind(call.Fun)
		if !ok {
			return true
		}
		d, err := declaration(kind, call)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", set.Position(call.Pos()), err))
			return true
		}
		list = append(list, d)
		return true
	})
	return list, errors.Join(errs...)
}

// metricKind returns the type of metric that f creates, if f is a constructor of package prometheus. It is "desc" for
// NewDesc, which providers use for gauges.
func metricKind(f ast.Expr) (kind string, ok bool) {
	selector, ok := f.(*ast.SelectorExpr)
	if !ok {
		return "", false
	}
	if pkg, ok := selector.X.(*ast.Ident); !ok || pkg.Name != "prometheus" {
		return "", false
	}
	name, isNew := strings.CutPrefix(selector.Sel.Name, "New")
	name = strings.ToLower(strings.TrimSuffix(name, "Vec"))
	return name, isNew && slices.Contains([]string{"counter", "gauge", "histogram", "summary", "desc"}, name)
}

// described parses a call of NewDesc: name, help and labels.
func described(call *ast.CallExpr) (telemetry.Declaration, error) {
	d := telemetry.Declaration{Type: "gauge"}
	var err error
	if d.Name, err = literal(call.Args[0]); err != nil {
		return d, fmt.Errorf("name: %w", err)
	}
	if d.Help, err = literal(call.Args[1]); err != nil {
		return d, fmt.Errorf("help: %w", err)
	}
	d.Labels, err = labelsOf(call.Args[2])
	return d, err
}

// labelsOf reads a literal list of labels.
func labelsOf(e ast.Expr) ([]string, error) {
	list, ok := e.(*ast.CompositeLit)
	if !ok {
		return nil, errors.New("the labels of the metric are not a literal")
	}
	var labels []string
	for _, e := range list.Elts {
		text, err := literal(e)
		if err != nil {
			return nil, fmt.Errorf("labels: %w", err)
		}
		labels = append(labels, text)
	}
	return labels, nil
}

// declaration reads the options and the labels of a call.
func declaration(kind string, call *ast.CallExpr) (telemetry.Declaration, error) {
	if kind == "desc" {
		return described(call)
	}
	d := telemetry.Declaration{Type: kind}
	options, ok := call.Args[0].(*ast.CompositeLit)
	if !ok {
		return d, errors.New("the options of the metric are not a literal")
	}
	parts := map[string]string{}
	for _, e := range options.Elts {
		field, ok := e.(*ast.KeyValueExpr)
		if !ok {
			return d, errors.New("the options of the metric have no field names")
		}
		name := field.Key.(*ast.Ident).Name
		switch name {
		case "Namespace", "Subsystem", "Name", "Help":
			text, err := literal(field.Value)
			if err != nil {
				return d, fmt.Errorf("%s: %w", name, err)
			}
			parts[name] = text
		}
	}
	names := []string{parts["Namespace"], parts["Subsystem"], parts["Name"]}
	d.Name = strings.Join(slices.DeleteFunc(names, func(s string) bool { return s == "" }), "_")
	d.Help = parts["Help"]
	if len(call.Args) < 2 {
		return d, nil
	}
	var err error
	d.Labels, err = labelsOf(call.Args[1])
	return d, err
}

// literal returns the value of a string literal, or of several joined by +.
func literal(e ast.Expr) (string, error) {
	switch e := e.(type) {
	case *ast.BasicLit:
		return strconv.Unquote(e.Value)
	case *ast.BinaryExpr:
		left, err := literal(e.X)
		if err != nil {
			return "", err
		}
		right, err := literal(e.Y)
		return left + right, err
	}
	return "", errors.New("is not a string literal")
}
