package objects

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

// ReadDir returns the objects in the .yaml files of a directory, in the order of file names and documents. A directory
// without such files is an error.
func ReadDir(dir string) ([]*unstructured.Unstructured, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil {
		return nil, fmt.Errorf("list manifests: %w", err)
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("read manifests: there is no .yaml file in %s", dir)
	}
	var objects []*unstructured.Unstructured
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("read manifests: %w", err)
		}
		found, err := Parse(data)
		if err != nil {
			return nil, fmt.Errorf("parse %s: %w", file, err)
		}
		objects = append(objects, found...)
	}
	return objects, nil
}

// Parse returns the objects in the YAML documents of data. Empty documents are ignored.
func Parse(data []byte) ([]*unstructured.Unstructured, error) {
	documents := utilyaml.NewDocumentDecoder(io.NopCloser(bytes.NewReader(data)))
	defer documents.Close()
	var objects []*unstructured.Unstructured
	buffer := make([]byte, len(data)+1)
	for number := 1; ; number++ {
		n, err := documents.Read(buffer)
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		if err != nil {
			return nil, fmt.Errorf("split document %d: %w", number, err)
		}
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(buffer[:n], &object.Object); err != nil {
			return nil, fmt.Errorf("document %d: %w", number, err)
		}
		if len(object.Object) == 0 {
			continue
		}
		if object.GetKind() == "" || object.GetName() == "" {
			return nil, fmt.Errorf("document %d: it has no kind or no name", number)
		}
		objects = append(objects, object)
	}
}
