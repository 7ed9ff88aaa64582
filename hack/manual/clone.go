package manual

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Clone fills the empty directory dir with links to the files of the repository at root, without build results and
// hidden files, so that it looks like a fresh clone.
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
