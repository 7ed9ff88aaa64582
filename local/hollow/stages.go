package hollow

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"

	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/kwok/pkg/apis/internalversion"
	kwokv1alpha1 "sigs.k8s.io/kwok/pkg/apis/v1alpha1"
	"sigs.k8s.io/yaml"
)

//go:embed stages/*.yaml
var stageFiles embed.FS

// stagesByKind has the stages of kwok, which define the behaviour of the hollow kubelet, by the kind of object.
type stagesByKind map[internalversion.StageResourceRef][]*internalversion.Stage

// loadStages reads every stage of files. An unknown field is an error.
func loadStages(files fs.FS) (stagesByKind, error) {
	names, err := fs.Glob(files, "stages/*.yaml")
	if err != nil {
		return nil, fmt.Errorf("list stages: %w", err)
	}
	stages := stagesByKind{}
	for _, name := range names {
		data, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, fmt.Errorf("read stages: %w", err)
		}
		if err := stages.add(data); err != nil {
			return nil, fmt.Errorf("parse %s: %w", name, err)
		}
	}
	return stages, nil
}

// add parses YAML documents with one stage each.
func (s stagesByKind) add(data []byte) error {
	documents := utilyaml.NewDocumentDecoder(io.NopCloser(bytes.NewReader(data)))
	defer documents.Close()
	buffer := make([]byte, len(data)+1)
	for {
		n, err := documents.Read(buffer)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("split documents: %w", err)
		}
		var stage kwokv1alpha1.Stage
		if err := yaml.UnmarshalStrict(buffer[:n], &stage); err != nil {
			return fmt.Errorf("decode stage: %w", err)
		}
		kwokv1alpha1.SetObjectDefaults_Stage(&stage)
		internal, err := internalversion.ConvertToInternalStage(&stage)
		if err != nil {
			return fmt.Errorf("convert stage %s: %w", stage.Name, err)
		}
		ref := internal.Spec.ResourceRef
		s[ref] = append(s[ref], internal)
	}
}
