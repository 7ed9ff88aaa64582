package manifest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Stdin is the path that stands for standard input.
const Stdin = "-"

// Options are the options of Read.
type Options struct {
	// Stdin is read for the path "-".
	Stdin io.Reader
	// Legacy converts objects of earlier API versions to current ones. If it is nil, such objects are mistakes.
	Legacy Legacy
}

// Legacy converts objects of earlier API versions.
type Legacy interface {
	// Knows reports whether an object of this kind and version, in JSON, is converted.
	Knows(gvk schema.GroupVersionKind, object []byte) bool
	// Convert returns a manifest, YAML or JSON, with the converted objects. It gets all objects at once, since the
	// conversion of one may depend on another. warnings has one sentence for each value that was lost or that the user
	// should check.
	Convert(objects []Written) (manifest []byte, warnings []string, err error)
}

// A Written is an object of the input before it is decoded or converted: its JSON, without defaults, and its place in the
// input.
type Written struct {
	Place Place
	JSON  []byte
}

// Read reads all objects in the files and directories, in the given order; files of a directory are sorted by name. The
// error is of type Errors if the files could be read but have mistakes.
func Read(ctx context.Context, paths []string, o Options) (*Set, error) {
	sources, err := open(paths, o.Stdin)
	if err != nil {
		return nil, err
	}
	docs, errs := cut(sources)
	if len(errs) == 0 {
		docs, errs = expand(docs)
	}
	set := newSet()
	if len(errs) == 0 {
		docs, errs = set.convert(docs, o.Legacy)
	}
	if len(errs) == 0 {
		errs = set.take(ctx, docs)
	}
	if len(errs) > 0 {
		return nil, located(errs)
	}
	return set, nil
}

// located sets the lines of the mistakes that will be printed.
func located(errs Errors) Errors {
	for i, e := range errs[:min(len(errs), maxErrors)] {
		if e.document == nil {
			continue
		}
		e.Object = e.document.title()
		e.Place.Line = e.document.lineOf(e.path)
		errs[i].document = nil // its text may be large
	}
	return errs
}

// open reads the files.
func open(paths []string, stdin io.Reader) ([]*source, error) {
	var out []*source
	for _, p := range paths {
		if p == Stdin {
			if stdin == nil {
				return nil, errors.New("no standard input")
			}
			data, err := io.ReadAll(stdin)
			if err != nil {
				return nil, fmt.Errorf("read standard input: %w", err)
			}
			out = append(out, &source{name: "stdin", data: data})
			continue
		}
		files, err := filesOf(p)
		if err != nil {
			return nil, err
		}
		for _, name := range files {
			data, err := os.ReadFile(name)
			if err != nil {
				return nil, err // the error names the operation and the file
			}
			out = append(out, &source{name: name, data: data, found: name != p})
		}
	}
	return out, nil
}

// extensions are the extensions of manifests in a directory.
var extensions = []string{".yaml", ".yml", ".json"}

// filesOf returns p itself, or, if p is a directory, the manifests in it and its subdirectories, sorted by name, without
// hidden ones. It returns an error if the directory has none.
func filesOf(p string) ([]string, error) {
	info, err := os.Stat(p)
	if err != nil {
		return nil, err // the error names the operation and the file
	}
	if !info.IsDir() {
		return []string{p}, nil
	}
	var files []string
	err = filepath.WalkDir(p, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name != p && strings.HasPrefix(entry.Name(), ".") {
			if entry.IsDir() {
				return filepath.SkipDir
			}
			return nil
		}
		if !entry.IsDir() && slices.Contains(extensions, strings.ToLower(filepath.Ext(name))) {
			files = append(files, name)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("search %s: %w", p, err)
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("directory %s has no file with the extension %s", p, strings.Join(extensions, ", "))
	}
	return files, nil
}

// cut splits all sources into documents and converts them to JSON.
func cut(sources []*source) ([]*document, Errors) {
	var docs []*document
	var errs Errors
	for _, s := range sources {
		found, err := split(s)
		switch {
		case err != nil:
			errs = append(errs, err)
		case len(found) == 0 && !s.found:
			errs = append(errs, &Error{Place: Place{File: s.name}, Message: "the file is empty"})
		}
		docs = append(docs, found...)
	}
	failed := make([]*Error, len(docs))
	each(len(docs), func(i int) { failed[i] = docs[i].toJSON() })
	for _, err := range failed {
		if err != nil {
			errs = append(errs, err)
		}
	}
	return docs, errs
}

// expand replaces each document that is a List of Kubernetes or a JSON array by its items, and leaves out empty documents.
func expand(docs []*document) ([]*document, Errors) {
	out := make([]*document, 0, len(docs))
	var errs Errors
	for _, d := range docs {
		items, err := d.items()
		if err != nil {
			errs = append(errs, err)
		}
		out = append(out, items...)
	}
	return out, errs
}
