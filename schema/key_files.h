#pragma once
// A host's keys on disk. A folder (0700) with
//   secret.key  0600: this host's secret key
//   public.key  its public key, for others
//   allowed     at a coordinator: whose workers may come
//
// Refused: a secret key that another user can read, and what another user could have written.

#include <functional>
#include <string>
#include <string_view>

#include "schema/keys.h"
#include "schema/result.h"

namespace pawl {

// $XDG_CONFIG_HOME/pawl/keys, else ~/.config/pawl/keys.
std::string DefaultKeyFolder();
std::string AllowFileIn(const std::string& folder);

// Makes the folder where there is none. Whole or not at all: the secret key comes last, and where
// it is there is the public one that belongs to it. Errors: a secret key is there already.
Status WriteKeyPair(const std::string& folder, const KeyPair& pair);
Result<SecretKey> ReadSecretKey(const std::string& folder);
Result<PublicKey> ReadPublicKey(const std::string& file);
// 64 digits, or a file.
Result<PublicKey> PublicKeyOrFile(const std::string& key_or_file);

Result<AllowList> ReadAllowList(const std::string& folder);  // no file: a list that is not whole
// Before anybody is judged by it: makes a list of nobody where there is none. Errors: what
// ReadAllowList finds; a list that is not whole.
Status PrepareAllowList(const std::string& folder);
// Replaces the list by what `change` makes of it, whole or not at all; one change at a time.
Status ChangeAllowList(const std::string& folder,
                       const std::function<Result<std::string>(std::string_view text)>& change);

}  // namespace pawl
