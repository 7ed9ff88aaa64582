package manual

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Clone makes dir, which is empty, look like a fresh clone of the repository at root: files are links, and what is built or
// hidden is left out.
func Clone(root, dir string) error {
	root, err := filepath.Abs(root)
	if err != nil {
		return fmt.Errorf("clone: %w", err)
	}
	entries, err := os.ReadDir(root)
	if err != nil {
		return fmt.Errorf("clone: %w", err)
	}
	var errs []error
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") || slices.Contains([]string{"bin", "dist"}, e.Name()) {
			continue
		}
		errs = append(errs, os.Symlink(filepath.Join(root, e.Name()), filepath.Join(dir, e.Name())))
	}
	return errors.Join(errs...)
}
