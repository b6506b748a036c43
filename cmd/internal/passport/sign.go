package passport

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/rdma-gauntlet/gauntlet/cmd/internal/document"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/fault"
	"github.com/rdma-gauntlet/gauntlet/reports/passport/seal"
)

// SignOptions say where a passport is written, and with which key it is signed.
type SignOptions struct {
	File string // to be written; must not exist
	Key  string // see seal.FindKey
	Lab  bool   // include the description of the lab
}

// Ready returns an error when the passport could not be signed and written. It is called before the hours that a
// qualification takes.
func (o *SignOptions) Ready() error {
	if _, err := os.Lstat(o.File); err == nil {
		return fault.Usage(fmt.Errorf("passport: %s is there already; choose another file or remove it", o.File))
	}
	key, err := seal.FindKey(o.Key)
	if err != nil {
		return fault.Usage(err)
	}
	return key.Close()
}

// Sign makes the passport of a report folder, signs it and writes it, and returns the fingerprint of the key.
func (o *SignOptions) Sign(ctx context.Context, folder string) (print string, err error) {
	if err := o.Ready(); err != nil {
		return "", err
	}
	p, err := Make(ctx, folder, o.Lab)
	if err != nil {
		return "", err
	}
	payload, err := p.Encode()
	if err != nil {
		return "", fault.Broken(err)
	}
	key, err := seal.FindKey(o.Key)
	if err != nil {
		return "", fault.Usage(err)
	}
	file, err := seal.Seal(ctx, payload, key.Signer)
	if err = errors.Join(err, key.Close()); err != nil {
		return "", fault.Broken(err)
	}
	err = document.File(o.File, func(w io.Writer) error {
		_, err := w.Write(file)
		return err
	})
	return seal.Print(key.Signer.PublicKey()), fault.Broken(err)
}
