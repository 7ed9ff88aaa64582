package telemetry

import (
	"errors"
	"fmt"
	"io"
	"os"
)

// OpenLog returns a writer that writes to all of the paths: "stdout", "stderr" or names of files, to which it appends. closeAll
// closes the files. It is never nil.
func OpenLog(paths []string) (w io.Writer, closeAll func() error, err error) {
	var writers []io.Writer
	var files []*os.File
	closeAll = func() error {
		var errs []error
		for _, f := range files {
			errs = append(errs, f.Close())
		}
		return errors.Join(errs...)
	}
	for _, path := range paths {
		switch path {
		case "stdout":
			writers = append(writers, os.Stdout)
		case "stderr":
			writers = append(writers, os.Stderr)
		default:
			f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
			if err != nil {
				return nil, closeAll, errors.Join(fmt.Errorf("open log: %w", err), closeAll())
			}
			files = append(files, f)
			writers = append(writers, f)
		}
	}
	if len(writers) == 1 {
		return writers[0], closeAll, nil
	}
	return io.MultiWriter(writers...), closeAll, nil
}
