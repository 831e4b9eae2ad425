//! Reads each case of the folder with arrow-rs; prints a line of JSON for each: its rows, or why there are none.

use std::{collections::HashMap, error::Error, fs::File, panic, panic::AssertUnwindSafe, path::Path};

use arrow_array::RecordBatch;
use arrow_json::WriterBuilder;
use arrow_json::writer::JsonArray;
use parquet::arrow::arrow_reader::{ArrowReaderOptions, ParquetRecordBatchReaderBuilder};
use parquet::encryption::decrypt::{DecryptionPropertiesBuilder, FileDecryptionProperties};
use serde_json::{Value, json};

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args().nth(1).ok_or("name the folder")?;
    let index: Value = serde_json::from_reader(File::open(Path::new(&folder).join("vectors.json"))?)?;
    for case in index["cases"].as_array().ok_or("no cases")? {
        // It unwraps no keys.
        let Some(footer_key) = case["footerKey"].as_str() else { continue };
        let path = Path::new(&folder).join(case["file"].as_str().ok_or("no file")?);
        let builder = keys(case, hex::decode(footer_key)?)?;
        // Only what arrow-rs does is a refusal. A fault of this program ends the run.
        let done = panic::catch_unwind(AssertUnwindSafe(|| batches(builder, &path).map_err(|failed| failed.to_string())));
        let rows = match done {
            Ok(Ok(batches)) => rows(&batches)?,
            Ok(Err(failed)) => json!(failed),
            Err(_) => json!("panicked"),
        };
        println!("{}", json!({"id": case["id"], "rows": rows}));
    }
    Ok(())
}

fn keys(case: &Value, footer_key: Vec<u8>) -> Result<DecryptionPropertiesBuilder, Box<dyn Error>> {
    let mut builder = FileDecryptionProperties::builder(footer_key);
    let keys: HashMap<String, String> = match case.get("columnKeys") {
        Some(keys) => serde_json::from_value(keys.clone())?,
        None => HashMap::new(),
    };
    for (column, key) in keys {
        builder = builder.with_column_key(&column, hex::decode(key)?);
    }
    if let Some(prefix) = case["aadPrefix"].as_str() {
        builder = builder.with_aad_prefix(prefix.into());
    }
    Ok(builder)
}

fn batches(builder: DecryptionPropertiesBuilder, path: &Path) -> Result<Vec<RecordBatch>, Box<dyn Error>> {
    let options = ArrowReaderOptions::new().with_file_decryption_properties(builder.build()?);
    let reader = ParquetRecordBatchReaderBuilder::try_new_with_options(File::open(path)?, options)?.build()?;
    Ok(reader.collect::<Result<_, _>>()?)
}

fn rows(batches: &[RecordBatch]) -> Result<Value, Box<dyn Error>> {
    let mut writer = WriterBuilder::new().with_explicit_nulls(true).build::<_, JsonArray>(Vec::new());
    for batch in batches {
        writer.write(batch)?;
    }
    writer.finish()?;
    let text = writer.into_inner();
    Ok(if text.is_empty() { json!([]) } else { serde_json::from_slice(&text)? })
}
