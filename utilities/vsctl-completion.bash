# Completion of vsctl's command lines in bash. Sourced, or put into /usr/share/bash-completion/completions/vsctl.
#
# Commands and options are vsctl's own lists (--commands, --options); names of bridges, ports and rows are asked from the
# running database, within a second, and left out where there is none.

_vsctl_ask() {
  vsctl --timeout=1 --no-wait --no-syslog "$@" 2>/dev/null
}

# The words that may stand for one argument of the kind that --commands names: "!BRIDGE", "*COLUMN?:KEY=VALUE" ...
_vsctl_argument_words() {
  local kind=${1#[?*+!]} table=$2 record=$3 typed=$4
  case $kind in
    BRIDGE | PARENT) _vsctl_ask list-br ;;
    PORT | BOND | 'PORT|IFACE') _vsctl_ask --bare --columns=name list Port ;;
    IFACE) _vsctl_ask --bare --columns=name list Interface ;;
    NEW-PORT) ls /sys/class/net 2>/dev/null ;;
    MODE) printf '%s\n' standalone secure ;;
    TARGET) printf '%s\n' tcp: ssl: unix: ptcp: pssl: punix: ;;
    TABLE) _vsctl_tables ;;
    RECORD) _vsctl_records "$table" ;;
    COLUMN) _vsctl_columns "$table" ;;
    'COLUMN?:KEY' | 'COLUMN?:KEY=VALUE')
      if [[ $typed == *:* ]]; then
        _vsctl_keys "$table" "$record" "${typed%%:*}" "$kind"
      elif [[ $kind == *=VALUE ]]; then
        _vsctl_columns "$table" | sed 's/$/=/'
      else
        _vsctl_columns "$table"
      fi
      ;;
  esac
}

# Of vsctl's help: the tables are the lines before "by UUID".
_vsctl_tables() {
  vsctl --help | sed -n '/^Database commands may reference/,/^$/s/^  \([A-Za-z_]*\):$/\1/p'
}

_vsctl_columns() {
  _vsctl_ask --format=csv find "$1" | head -n 1 | tr ',' '\n'
}

_vsctl_records() {
  case $1 in
    [Oo]pen* | [Oo] | SSL | ssl) echo . ;;
    *)
      _vsctl_ask --bare --columns=name list "$1"
      _vsctl_ask --bare --columns=_uuid list "$1"
      ;;
  esac
}

# "column:key" with the keys that the record has.
_vsctl_keys() {
  local table=$1 record=$2 column=$3 end=
  [[ $4 == *=VALUE ]] && end==
  _vsctl_ask --format=json --columns="$column" list "$table" "$record" |
    grep -o '\[\["map",.*' | grep -o '\["[^"]*",' | tr -d '[",' | grep -vx map | sed "s|.*|$column:&$end|"
}

# The names of a command's arguments, one per line.
_vsctl_signature() {
  vsctl --commands | awk -F, -v command="$1" '$2 == command { print $3 }' | tr ' ' '\n'
}

# Sets `kind` to the name of the argument after `count` arguments: a repeated one goes on, an optional first one is
# BRIDGE of "del-port [BRIDGE] PORT" as much as what follows it.
_vsctl_kind() {
  local -a signature
  mapfile -t signature < <(_vsctl_signature "$1")
  local count=$2 last
  ((${#signature[@]})) || return 1
  if ((count < ${#signature[@]})); then
    kind=${signature[count]}
    return
  fi
  last=${signature[-1]}
  [[ $last == [*+]* ]] && kind=$last
}

_vsctl() {
  local cur=${COMP_WORDS[COMP_CWORD]} command= kind= word i
  local -a arguments=() words=()
  # bash cuts words at ':' and '='; the word as typed is what counts.
  if declare -F _get_comp_words_by_ref >/dev/null; then
    local cword
    _get_comp_words_by_ref -n := -w words -i cword cur
  else
    words=("${COMP_WORDS[@]}")
    local cword=$COMP_CWORD
  fi
  for ((i = 1; i < cword; i++)); do
    word=${words[i]}
    if [[ $word == -- ]]; then
      command=
      arguments=()
    elif [[ -z $command && $word == -[tfdpcC] ]]; then
      ((i++)) # its value
    elif [[ -z $command && $word != -* ]]; then
      command=$word
    elif [[ -n $command ]]; then
      arguments+=("$word")
    fi
  done
  local choices
  if [[ -z $command && $cur == -* ]]; then
    choices=$({ vsctl --options | sed 's/=ARG/=/'; vsctl --commands | grep -o -- '--[a-z-]*=\?'; } | grep -- '^--')
  elif [[ -z $command ]]; then
    choices=$(vsctl --commands | cut -d, -f2)
  elif _vsctl_kind "$command" "${#arguments[@]}"; then
    choices=$(_vsctl_argument_words "$kind" "${arguments[0]}" "${arguments[1]}" "$cur")
  fi
  mapfile -t COMPREPLY < <(compgen -W "$choices --" -- "$cur" | sort -u)
  [[ ${COMPREPLY[0]} == *[=:] && ${#COMPREPLY[@]} == 1 ]] && compopt -o nospace 2>/dev/null
  declare -F __ltrim_colon_completions >/dev/null && __ltrim_colon_completions "$cur"
  return 0
}

complete -F _vsctl vsctl
