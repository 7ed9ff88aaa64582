package long

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Copy turns the directory with the path to into a git repository with the files of the directory with the path from. It
// copies uncommitted files, too, but no ignored ones. It writes a file only if it differs, and removes files that the source
// does not have. Build results in the target are kept.
func Copy(ctx context.Context, from, to string) error {
	files, err := listed(ctx, from)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(to, 0o755); err != nil {
		return fmt.Errorf("make directory: %w", err)
	}
	if _, err := git(ctx, to, "init", "--quiet"); err != nil {
		return err
	}
	before, err := listed(ctx, to)
	if err != nil {
		return err
	}
	for name := range before {
		if !files[name] {
			if err := os.Remove(filepath.Join(to, name)); err != nil {
				return fmt.Errorf("remove file: %w", err)
			}
		}
	}
	for name := range files {
		if err := copyFile(filepath.Join(from, name), filepath.Join(to, name)); err != nil {
			return err
		}
	}
	if _, err := git(ctx, to, "add", "--all"); err != nil {
		return err
	}
	_, err = git(ctx, to, "-c", "user.name=test", "-c", "user.email=test@example.com", "commit", "--quiet", "--allow-empty", "--message", "copy")
	return err
}

// listed returns the existing files in dir that git tracks or does not ignore.
func listed(ctx context.Context, dir string) (map[string]bool, error) {
	out, err := git(ctx, dir, "ls-files", "-co", "--exclude-standard", "-z")
	if err != nil {
		return nil, err
	}
	files := map[string]bool{}
	for name := range strings.SplitSeq(strings.TrimSuffix(out, "\x00"), "\x00") {
		if _, err := os.Lstat(filepath.Join(dir, name)); name != "" && err == nil {
			files[name] = true
		}
	}
	return files, nil
}

func git(ctx context.Context, dir string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", append([]string{"-C", dir}, args...)...)
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w\n%s", strings.Join(args, " "), err, &said)
	}
	return string(out), nil
}

// copyFile copies a file or a link, unless an equal copy exists.
func copyFile(from, to string) error {
	info, err := os.Lstat(from)
	if err != nil {
		return fmt.Errorf("copy file: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return fmt.Errorf("copy file: %w", err)
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		target, err := os.Readlink(from)
		if had, _ := os.Readlink(to); err == nil && had == target {
			return nil
		}
		if gone := os.Remove(to); gone != nil && !errors.Is(gone, fs.ErrNotExist) {
			err = errors.Join(err, gone)
		}
		return errors.Join(err, os.Symlink(target, to))
	}
	want, err := os.ReadFile(from)
	if err != nil {
		return fmt.Errorf("copy file: %w", err)
	}
	if have, err := os.ReadFile(to); err == nil && bytes.Equal(have, want) {
		return nil
	}
	if err := os.WriteFile(to, want, info.Mode().Perm()); err != nil {
		return fmt.Errorf("copy file: %w", err)
	}
	return nil
}
