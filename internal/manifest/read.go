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

// Options are what Read needs besides paths.
type Options struct {
	// Stdin is read for the path "-".
	Stdin io.Reader
	// Legacy turns objects of earlier API versions into those of today; nil means that such objects are mistakes.
	Legacy Legacy
}

// Legacy knows the kinds of earlier API versions.
type Legacy interface {
	// Knows reports whether an object of this kind and version, in JSON, is converted.
	Knows(gvk schema.GroupVersionKind, object []byte) bool
	// Convert returns a manifest, YAML or JSON, with the objects that stand for those given, all at once since one may need
	// another; and what was lost or is to be looked at, a sentence each.
	Convert(objects []Written) (manifest []byte, warnings []string, err error)
}

// A Written is an object as it was written.
type Written struct {
	Place Place
	JSON  []byte
}

// Read reads all objects in the files and directories named, in that order, files of a directory by name. The error is of
// type Errors if the input was found and is bad.
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

// located looks up the lines of the mistakes that will be printed.
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
				return nil, err // it names the operation and the file
			}
			out = append(out, &source{name: name, data: data, found: name != p})
		}
	}
	return out, nil
}

// extensions are those of the files that a directory is searched for.
var extensions = []string{".yaml", ".yml", ".json"}

// filesOf returns p itself, or the manifests in the directory p and below, by name; hidden ones are left out.
func filesOf(p string) ([]string, error) {
	info, err := os.Stat(p)
	if err != nil {
		return nil, err // it names the operation and the file
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

// cut splits all sources into documents, as JSON.
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

// expand replaces lists by their items.
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
